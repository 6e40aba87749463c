"""The call path: errors, chain, context, response. Imports no sibling package; defines the protocols they implement."""
