"""Undo: takes back what a turn did to files, from what was kept before it did."""
