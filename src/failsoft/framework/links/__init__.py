"""The framework's own links, one a file; in the chain: observe, validate, deadline, recover, check, invoke."""
