"""Failures of three servers, and the answers that a model reads."""
