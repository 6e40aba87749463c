"""Writes the project of `failsoft new NAME --openapi FILE|URL`."""
