"""What the library keeps of photos, and where it keeps it."""
