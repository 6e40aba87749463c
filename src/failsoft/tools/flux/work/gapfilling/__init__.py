"""Find the reactions that a model lacks for growth."""
