"""The Python side of the ops."""
