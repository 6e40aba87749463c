"""The strategies, one a module or package."""
