"""SQLite files in the user's cache folder, shared by threads and processes, and pools of connections."""
