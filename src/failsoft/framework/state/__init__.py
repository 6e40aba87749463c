"""State that calls share and records that outlive them: atomic steps over keys, in memory or in a store."""
