"""Sanitize foreign values: JSON conversion, redaction of secrets and paths."""
