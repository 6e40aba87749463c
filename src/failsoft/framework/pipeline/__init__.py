"""The built-in links of the call chain, outermost first: observe, deadline, validate, check, recover, invoke."""
