"""Documentation projects: config.json, document types, activation."""
