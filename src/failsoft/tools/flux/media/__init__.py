"""Growth media: building and checking them."""
