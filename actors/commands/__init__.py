"""The command line: its words, and the commands that ask no model."""
