"""The tool surface: what a model is told about the tools, as bytes that never move."""
