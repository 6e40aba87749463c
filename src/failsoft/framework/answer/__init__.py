"""Results, failures and responses of calls."""
