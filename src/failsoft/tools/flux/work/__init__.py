"""What runs in the worker processes: the only place that loads cobra. The server knows its functions by name alone."""
