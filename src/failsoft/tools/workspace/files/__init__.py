"""Reading and writing below a session's root."""
