"""The version of the distribution that this package comes in: that of tf_nvcodec/version.py."""

__version__ = "0.1.0"
