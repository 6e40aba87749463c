"""Files that a caller names: models, FASTA sequences and media tables."""
