"""Rules: normalization."""
