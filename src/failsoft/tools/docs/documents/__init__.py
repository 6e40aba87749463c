"""Reading documents: files, front matter, look-up by path."""
