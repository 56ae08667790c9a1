"""Treadle: durable background work on PostgreSQL."""
