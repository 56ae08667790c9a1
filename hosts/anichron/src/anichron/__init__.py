"""Anichron: a self-hosted photo library, and the first host application on Treadle."""
