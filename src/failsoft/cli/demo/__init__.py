"""`failsoft demo`: a real client against the real server."""
