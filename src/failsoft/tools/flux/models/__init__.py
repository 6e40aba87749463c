"""The models that callers have loaded or made."""
