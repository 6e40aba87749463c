"""Services of a runtime: settings, events, state, threads."""
