"""Start-up, shutdown and reloading of a served toolset."""
