"""A session: its log of events, what they add up to, and the one place that writes them."""
