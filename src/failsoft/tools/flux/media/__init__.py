"""Growth media: making, listing and deleting them, and the checks of their contents."""
