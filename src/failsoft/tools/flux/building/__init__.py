"""Draft models from proteins or functions."""
