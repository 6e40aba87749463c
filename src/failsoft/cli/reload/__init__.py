"""`serve --reload`: restart the server when a file changes."""
