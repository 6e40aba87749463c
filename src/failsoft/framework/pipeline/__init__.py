"""The built-in links of the call chain, outermost first: observe, validate, deadline, recover, check, invoke."""
