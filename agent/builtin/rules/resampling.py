"""Rules: resampling."""
