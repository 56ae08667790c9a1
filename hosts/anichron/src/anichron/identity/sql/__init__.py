"""The statements about users and their folders."""
