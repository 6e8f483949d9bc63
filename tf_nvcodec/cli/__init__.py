"""The `tf-nvcodec` command line; importing it imports neither TensorFlow nor the op library."""

from tf_nvcodec.cli.app import main

__all__ = ["main"]
