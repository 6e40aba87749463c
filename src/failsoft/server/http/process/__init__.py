"""The HTTP server process: uvicorn, workers, bounded connections."""
