"""Compaction: keeps a conversation within the model's window without losing what the user wants."""
