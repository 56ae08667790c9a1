"""Signing in: sessions of refresh tokens, and short-lived access tokens that are bound to them."""
