"""Requests to models that take videos."""
