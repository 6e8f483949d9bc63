"""The `trt-convert` command line; importing it imports neither TensorFlow nor TensorRT."""

from converters.cli.app import main

__all__ = ["main"]
