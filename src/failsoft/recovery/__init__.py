"""Recovery: what may take the place of a failure, and the strategies that find it."""
