"""Strict unified patches."""
