"""One call: its context, its chain of middleware, and the protocols of what it uses."""
