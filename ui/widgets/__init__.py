"""What is drawn: each widget shows one part of the state."""
