"""Arguments of an operation, from a signature or a JSON Schema."""
