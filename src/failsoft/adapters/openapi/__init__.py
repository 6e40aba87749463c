"""Tools from an OpenAPI document: its reader."""
