"""The web, as far as a tool may reach it: which addresses, how much of them, and what a page says."""
