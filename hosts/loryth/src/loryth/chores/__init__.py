"""Recurring work; each run is bounded, stops between two items when asked, and is completed by the next."""
