"""The compounds and reactions of ModelSEED, in a SQLite file that is built on first use."""
