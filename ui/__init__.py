"""Draws a state and sends intents."""
