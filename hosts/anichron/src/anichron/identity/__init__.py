"""Users and their folders of originals."""
