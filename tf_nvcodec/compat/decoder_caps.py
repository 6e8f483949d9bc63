"""What a decoder can decode: GetDecoderCaps."""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat.decoder_options import base_codec_number, codec_number, gpu_number
from tf_nvcodec.compat.enums import cudaVideoChromaFormat, cudaVideoCodec
from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.library import check, declare


class _Caps(ctypes.Structure):
    """nvc_decoder_caps of capi/decoder.h."""

    _fields_ = (
        ("mb_num_max", ctypes.c_int64),
        ("num_decoder_engines", ctypes.c_int32),
        ("width_min", ctypes.c_int32),
        ("height_min", ctypes.c_int32),
        ("width_max", ctypes.c_int32),
        ("height_max", ctypes.c_int32),
    )


_get_caps = declare(
    "decoder_get_caps",
    [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Caps)],
)


def GetDecoderCaps(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    chromaformat: Any = cudaVideoChromaFormat["420"],
    bitdepth: int = 8,
) -> dict[str, int]:
    """Returns what a decoder created with these arguments can decode.

    Returns:
      A dictionary with "num_decoder_engines" (of the GPU; 0 if FFmpeg decodes), "width_min",
      "width_max", "height_min" and "height_max" in pixels, "mb_num_max" in macroblocks of 16x16,
      and the arguments as "codec_id", "chromaformat_id" and "bitdepth".

    Raises:
      PyNvVCExceptionUnsupported: Such streams cannot be decoded here.
      ValueError: An argument is out of its range.
    """
    gpu, number = gpu_number(gpuid), base_codec_number(codec)
    chroma = whole("chromaformat", chromaformat, 0, 3)
    bits = whole("bitdepth", bitdepth, 1, 16)
    caps = _Caps()
    check(_get_caps(gpu, number, chroma, bits, ctypes.byref(caps)))
    return {
        "codec_id": codec_number(codec),
        "chromaformat_id": chroma,
        "bitdepth": bits,
        **{name: getattr(caps, name) for name, _ in _Caps._fields_},
    }
