"""From the bytes of a response to the answer and its events."""
