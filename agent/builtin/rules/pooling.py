"""Rules: pooling."""
