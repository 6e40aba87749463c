"""Plans: submitted, approved, matched against paths."""
