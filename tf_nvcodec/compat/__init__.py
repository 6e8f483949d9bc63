"""PyNvVideoCodec's API on the project's own decoders and encoders, with or without a GPU.

    import tf_nvcodec.compat as nvc

is all that a script written for PyNvVideoCodec changes; docs/pynvvideocodec.md has what differs.
"""

from tf_nvcodec.compat.encode_parameters import IgnoredParameterWarning
from tf_nvcodec.compat.encode_reconfigure import EncodeReconfigureParams
from tf_nvcodec.compat.encoder import CreateEncoder, PyNvEncoder
from tf_nvcodec.compat.encoder_enums import (
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
    NV_ENC_PIC_FLAGS,
    NV_ENC_PIC_PARAMS,
    NV_ENC_PIC_TYPE,
)
from tf_nvcodec.compat.errors import PyNvVCException, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.muxer import MEDIA_FORMAT, FFmpegMuxer, GetMediaFormat

__all__ = [
    "MEDIA_FORMAT",
    "NV_ENC_MULTI_PASS",
    "NV_ENC_PARAMS_RC_MODE",
    "NV_ENC_PIC_FLAGS",
    "NV_ENC_PIC_PARAMS",
    "NV_ENC_PIC_TYPE",
    "CreateEncoder",
    "EncodeReconfigureParams",
    "FFmpegMuxer",
    "GetMediaFormat",
    "IgnoredParameterWarning",
    "PyNvEncoder",
    "PyNvVCException",
    "PyNvVCExceptionUnsupported",
]
