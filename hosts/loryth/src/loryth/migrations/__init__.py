"""The numbered migrations of the schema `loryth`."""
