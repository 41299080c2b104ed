"""One file per actor, then what the actors are made of."""

__version__ = "0.1.0"
