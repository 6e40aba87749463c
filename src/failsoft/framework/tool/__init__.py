"""`BaseTool`, `@operation` and the runtime."""
