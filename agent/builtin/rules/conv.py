"""Rules: conv."""
