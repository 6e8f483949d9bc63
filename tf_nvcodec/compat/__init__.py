"""PyNvVideoCodec's API on the project's own decoders and encoders, with or without a GPU.

    import tf_nvcodec.compat as nvc

A script written for PyNvVideoCodec changes only this line. docs/pynvvideocodec.md lists what
differs.
"""

import sys

from tf_nvcodec.compat.decoder import CreateDecoder, PyNvDecoder
from tf_nvcodec.compat.decoder_caps import GetDecoderCaps
from tf_nvcodec.compat.demuxer import CreateDemuxer, PyNvDemuxer
from tf_nvcodec.compat.encode_parameters import IgnoredParameterWarning
from tf_nvcodec.compat.encode_reconfigure import EncodeReconfigureParams
from tf_nvcodec.compat.encoder import CreateEncoder, PyNvEncoder
from tf_nvcodec.compat.encoder_caps import GetEncoderCaps
from tf_nvcodec.compat.encoder_enums import (
    NV_ENC_MULTI_PASS,
    NV_ENC_PARAMS_RC_MODE,
    NV_ENC_PIC_FLAGS,
    NV_ENC_PIC_PARAMS,
    NV_ENC_PIC_TYPE,
)
from tf_nvcodec.compat.enums import (
    ColorRange,
    ColorSpace,
    DisplayDecodeLatencyType,
    OutputColorType,
    Pixel_Format,
    VideoPacketFlag,
    cudaVideoChromaFormat,
    cudaVideoCodec,
    cudaVideoSurfaceFormat,
)
from tf_nvcodec.compat.errors import (
    PyNvVCException,
    PyNvVCExceptionCuda,
    PyNvVCExceptionDecode,
    PyNvVCExceptionUnsupported,
)
from tf_nvcodec.compat.frame import CAIMemoryView, DecodedFrame
from tf_nvcodec.compat.muxer import MEDIA_FORMAT, FFmpegMuxer, GetMediaFormat
from tf_nvcodec.compat.packet import PacketData
from tf_nvcodec.compat.simple_decoder import (
    CreateSimpleDecoder,
    ScannedStreamMetadata,
    SimpleDecoder,
    StreamMetadata,
)
from tf_nvcodec.compat.threaded_decoder import CreateThreadedDecoder, ThreadedDecoder
from tf_nvcodec.compat.transcoder import Transcoder
from tf_nvcodec.version import __version__

__all__ = [
    "AVI",
    "MEDIA_FORMAT",
    "MKV",
    "MOV",
    "MP4",
    "NV_ENC_MULTI_PASS",
    "NV_ENC_PARAMS_RC_MODE",
    "NV_ENC_PIC_FLAGS",
    "NV_ENC_PIC_PARAMS",
    "NV_ENC_PIC_TYPE",
    "TS",
    "WEBM",
    "CAIMemoryView",
    "ColorRange",
    "ColorSpace",
    "CreateDecoder",
    "CreateDemuxer",
    "CreateEncoder",
    "CreateSimpleDecoder",
    "CreateThreadedDecoder",
    "DecodedFrame",
    "DisplayDecodeLatencyType",
    "EncodeReconfigureParams",
    "FFmpegMuxer",
    "GetDecoderCaps",
    "GetEncoderCaps",
    "GetMediaFormat",
    "IgnoredParameterWarning",
    "OutputColorType",
    "PacketData",
    "Pixel_Format",
    "PyNvDecoder",
    "PyNvDemuxer",
    "PyNvEncoder",
    "PyNvVCException",
    "PyNvVCExceptionCuda",
    "PyNvVCExceptionDecode",
    "PyNvVCExceptionUnsupported",
    "ScannedStreamMetadata",
    "SimpleDecoder",
    "StreamMetadata",
    "ThreadedDecoder",
    "Transcoder",
    "VideoPacketFlag",
    "__version__",
    "cudaVideoChromaFormat",
    "cudaVideoCodec",
    "cudaVideoSurfaceFormat",
]

# As PyNvVideoCodec's module exports them.
MP4, MOV, MKV, WEBM, AVI, TS = MEDIA_FORMAT

# Scripts reach enumerations through the name of PyNvVideoCodec's extension module too, as in
# nvc._PyNvVideoCodec.cudaVideoCodec.H264.
_PyNvVideoCodec = sys.modules[__name__]
