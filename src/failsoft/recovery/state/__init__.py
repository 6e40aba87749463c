"""State stores: in memory (`LocalState`), in SQLite, or on Redis."""
