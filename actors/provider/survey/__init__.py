"""What the built-in offline model does and says: a survey of the workspace, decided by the request."""
