"""Rules: matmul."""
