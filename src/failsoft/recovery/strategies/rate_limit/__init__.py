"""`RateLimit`: so many calls in so much time."""
