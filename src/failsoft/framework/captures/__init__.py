"""Captures of failed calls: what a call was given and how it ended, in a file each, so that it can be run again."""
