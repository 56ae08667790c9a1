"""The statement about live workers."""
