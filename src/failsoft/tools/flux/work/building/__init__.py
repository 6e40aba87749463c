"""Tasks that make models: from proteins, with ModelSEEDpy, and by filling gaps."""
