"""`Idempotency`: replays the outcome of an earlier call with the same key."""
