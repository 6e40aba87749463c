"""`AlternatePaths`: serve the same document under its other path."""
