"""Search by meaning: embeddings, their storage, and the fusion with lexical search."""
