"""The transcript: what was said and done as blocks, how they are drawn, and the list that shows them."""
