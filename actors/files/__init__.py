"""What the file tools are made of: paths, encodings, edits, pages, search."""
