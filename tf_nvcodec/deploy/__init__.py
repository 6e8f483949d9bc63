"""Folders that servers load: model repositories for Triton, and TensorFlow Serving's."""
