"""What a person may set: the layers it comes from, and the value that comes of them."""
