"""PyNvVideoCodec's API on the project's own decoders and encoders, with or without a GPU.

    import tf_nvcodec.compat as nvc

is all that a script written for PyNvVideoCodec changes; docs/pynvvideocodec.md has what differs.
"""

from tf_nvcodec.compat.errors import PyNvVCException, PyNvVCExceptionUnsupported

__all__ = ["PyNvVCException", "PyNvVCExceptionUnsupported"]
