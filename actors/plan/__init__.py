"""The plan: what is legal, how it is read from a model, how it lies on disk."""
