"""Rules: recurrent."""
