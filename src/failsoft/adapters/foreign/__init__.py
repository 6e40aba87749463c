"""Foreign tools, which were not written with `@operation`, run through the same chain."""
