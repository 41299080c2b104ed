"""The composer: where the person writes, what is pasted, queued and kept there."""
