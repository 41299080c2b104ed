"""A delegation: the fork, the worker that plays it, the result that comes back."""
