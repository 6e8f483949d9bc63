"""What the encoder of a codec can do: GetEncoderCaps."""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat.decoder_options import gpu_number
from tf_nvcodec.compat.encode_backend import check_backend
from tf_nvcodec.compat.encode_table import BY_NAME
from tf_nvcodec.compat.encode_values import parse
from tf_nvcodec.compat.encoder_library import nvenc_is_on
from tf_nvcodec.compat.errors import PyNvVCExceptionUnsupported
from tf_nvcodec.compat.library import check, declare


class _Caps(ctypes.Structure):
    """nvc_encoder_caps of capi/encoder_caps.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("least_side", "most_width", "most_height")),
        *((name, ctypes.c_int32) for name in ("b_frames", "ten_bits", "full_chroma")),
    )


class _NvencCap(ctypes.Structure):
    """nvc_nvenc_cap of capi/encoder_caps.h."""

    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_int32))


_get_caps = declare("encoder_get_caps", [ctypes.c_char_p, ctypes.POINTER(_Caps)])
_get_nvenc_caps = declare(
    "nvenc_get_caps",
    [
        *(ctypes.c_int, ctypes.c_char_p),
        *(ctypes.POINTER(_NvencCap), ctypes.c_int32, ctypes.POINTER(ctypes.c_int32)),
    ],
)

# Room for more capabilities than NVENC has.
_ROOM = 256


def GetEncoderCaps(gpuid: int = 0, codec: Any = "h264", backend: str = "auto") -> dict[str, int]:
    """Returns what the encoder that CreateEncoder would take can do.

    Args:
      gpuid: The number of the GPU whose NVENC is asked.
      codec: "h264", "hevc" or "av1".
      backend: As for CreateEncoder: "cpu"; "nvenc"; "auto", which is "cpu" unless
        TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set and the GPU has an NVENC with this codec.

    Returns:
      A dictionary. For NVENC it has what the driver answers, by the names of NV_ENC_CAPS in lower
      case ("num_max_bframes", "support_10bit_encode", ...). For the CPU's encoder it has what this
      project uses: "num_encoder_engines", which is 0; "width_min", "width_max", "height_min" and
      "height_max" in pixels; "num_max_bframes" in a row; and 0 or 1 for "support_10bit_encode",
      "support_yuv444_encode", "support_lossless_encode", "support_lookahead",
      "support_temporal_aq", "support_custom_vbv_buf_size", "support_dyn_bitrate_change" and
      "support_dynamic_slice_mode". It lacks what only hardware has.

    Raises:
      InvalidValueError: The codec or the backend does not exist, or gpuid is no number of a GPU.
      PyNvVCExceptionUnsupported: This FFmpeg has no such encoder; with "nvenc", the GPU has none.
    """
    name = parse(BY_NAME["codec"].kind, "codec", codec, "h264")
    gpuid = gpu_number(gpuid)
    check_backend(backend)
    if backend == "nvenc":
        return _of_nvenc(gpuid, name)
    if backend == "auto" and nvenc_is_on():
        try:
            return _of_nvenc(gpuid, name)
        except PyNvVCExceptionUnsupported:
            pass
    return _of_cpu(name)


def _of_nvenc(gpu: int, codec: str) -> dict[str, int]:
    caps, count = (_NvencCap * _ROOM)(), ctypes.c_int32()
    check(_get_nvenc_caps(gpu, codec.encode(), caps, _ROOM, ctypes.byref(count)))
    return {cap.name.decode(): cap.value for cap in caps[: count.value]}


def _of_cpu(codec: str) -> dict[str, int]:
    caps = _Caps()
    check(_get_caps(codec.encode(), ctypes.byref(caps)))
    h26x, x264 = int(codec != "av1"), int(codec == "h264")
    return {
        "num_encoder_engines": 0,
        "width_min": caps.least_side,
        "height_min": caps.least_side,
        "width_max": caps.most_width,
        "height_max": caps.most_height,
        "num_max_bframes": caps.b_frames,
        "support_10bit_encode": caps.ten_bits,
        "support_yuv444_encode": caps.full_chroma,
        "support_lossless_encode": h26x,
        "support_lookahead": 1,
        "support_temporal_aq": h26x,
        "support_custom_vbv_buf_size": h26x,
        "support_dyn_bitrate_change": x264,
        "support_dynamic_slice_mode": x264,
    }
