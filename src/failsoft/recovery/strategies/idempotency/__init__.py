"""`Idempotency`: replay the outcome of a call that was made before."""
