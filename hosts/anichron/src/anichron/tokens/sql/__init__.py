"""The statement about refresh tokens."""
