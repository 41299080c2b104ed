"""One file a tool, its description in the .md beside it."""
