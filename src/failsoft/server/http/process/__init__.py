"""The HTTP server process: uvicorn, workers, heartbeat."""
