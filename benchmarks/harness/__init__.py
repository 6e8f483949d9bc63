"""Runs a script's peers side by side: clips, processes, checks, figures."""
