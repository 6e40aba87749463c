"""The index in PostgreSQL: full text by BM25, vectors by pgvector (extra `postgres`)."""
