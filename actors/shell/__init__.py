"""How commands run: the process they are started from, what watches one, what is kept of its output."""
