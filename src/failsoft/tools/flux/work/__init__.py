"""Tasks for worker processes, the only modules that load cobra. The server refers to them by name."""
