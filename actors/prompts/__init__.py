"""The system message: the product's own text, then what belongs to the workspace."""
