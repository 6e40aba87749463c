"""Draft models from proteins."""
