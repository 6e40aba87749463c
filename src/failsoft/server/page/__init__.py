"""What people see of a running server: `status.py` gathers it over all workers, for `/status.json` and the page."""
