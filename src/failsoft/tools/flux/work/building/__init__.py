"""Build a draft model from proteins or templates."""
