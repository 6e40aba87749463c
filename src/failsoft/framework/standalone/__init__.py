"""Error handling without a toolset: handler, envelope factories."""
