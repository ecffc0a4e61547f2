"""Rules: losses."""
