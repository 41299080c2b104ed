"""The wall around a worker: what it has of its own, what the kernel takes away, how much of it holds here."""
