"""Rules: random."""
