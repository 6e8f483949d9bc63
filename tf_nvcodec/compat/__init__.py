"""PyNvVideoCodec's API on the project's own decoders and encoders, with or without a GPU.

    import tf_nvcodec.compat as nvc

is all that a script written for PyNvVideoCodec changes; docs/pynvvideocodec.md has what differs.
"""

from tf_nvcodec.compat.decoder import CreateDecoder, GetDecoderCaps, PyNvDecoder
from tf_nvcodec.compat.demuxer import CreateDemuxer, PyNvDemuxer
from tf_nvcodec.compat.enums import (
    ColorRange,
    ColorSpace,
    DisplayDecodeLatencyType,
    OutputColorType,
    Pixel_Format,
    cudaVideoChromaFormat,
    cudaVideoCodec,
    cudaVideoSurfaceFormat,
)
from tf_nvcodec.compat.errors import PyNvVCException, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.frame import CAIMemoryView, DecodedFrame
from tf_nvcodec.compat.packet import PacketData
from tf_nvcodec.compat.simple_decoder import (
    CreateSimpleDecoder,
    ScannedStreamMetadata,
    SimpleDecoder,
    StreamMetadata,
)
from tf_nvcodec.compat.threaded_decoder import CreateThreadedDecoder, ThreadedDecoder

__all__ = [
    "CAIMemoryView",
    "ColorRange",
    "ColorSpace",
    "CreateDecoder",
    "CreateDemuxer",
    "CreateSimpleDecoder",
    "CreateThreadedDecoder",
    "DecodedFrame",
    "DisplayDecodeLatencyType",
    "GetDecoderCaps",
    "OutputColorType",
    "PacketData",
    "Pixel_Format",
    "PyNvDecoder",
    "PyNvDemuxer",
    "PyNvVCException",
    "PyNvVCExceptionUnsupported",
    "ScannedStreamMetadata",
    "SimpleDecoder",
    "StreamMetadata",
    "ThreadedDecoder",
    "cudaVideoChromaFormat",
    "cudaVideoCodec",
    "cudaVideoSurfaceFormat",
]
