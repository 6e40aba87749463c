"""The framework's own links, one a file, in the order of the chain: observe, validate, deadline, recover, check, handler."""
