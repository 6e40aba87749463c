"""Rules that say what is wrong with a server, over its status."""
