"""One file per actor, then what the actors are made of."""
