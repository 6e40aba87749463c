"""The errors of the flux toolset."""
