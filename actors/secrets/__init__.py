"""Keys and other secrets: where they come from, and how they stay out of everything that is kept or shown."""
