"""The commands, one per module; those for whoever operates a server are in `operate`."""
