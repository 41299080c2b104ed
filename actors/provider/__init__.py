"""Where answers come from: directly from a server, or through the parent."""
