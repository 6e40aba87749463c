"""Validation of arguments: faults as data, messages, and suggested corrections."""
