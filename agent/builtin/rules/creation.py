"""Rules: creation."""
