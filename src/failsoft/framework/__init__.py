"""The call path: errors, chain, context, response. Imports none of its siblings and owns the protocols."""
