"""Recovery from a TOML file or a setting."""
