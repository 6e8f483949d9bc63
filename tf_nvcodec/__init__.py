"""Video in and out of TensorFlow: probe, decode and encode ops in C++."""

from tf_nvcodec.python.availability import build_info, is_available
from tf_nvcodec.version import __version__

__all__ = ["__version__", "build_info", "is_available"]
