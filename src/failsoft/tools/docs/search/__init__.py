"""The full-text index and the queries over it."""
