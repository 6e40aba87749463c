"""Atomic changes of one or many files, with a journal."""
