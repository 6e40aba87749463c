"""`RateLimit`: limits the number of calls in a period."""
