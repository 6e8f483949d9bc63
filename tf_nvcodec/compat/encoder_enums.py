"""The enumerations of NVENC that PyNvVideoCodec's encoder uses, with its names and values."""

from __future__ import annotations

from tf_nvcodec.compat.enums import NamedFlag, NamedInteger


class NV_ENC_PARAMS_RC_MODE(NamedInteger):
    CONSTQP = 0
    VBR = 1
    CBR = 2


class NV_ENC_MULTI_PASS(NamedInteger):
    DISABLED = 0
    TWO_PASS_QUARTER_RESOLUTION = 1
    TWO_PASS_FULL_RESOLUTION = 2


class NV_ENC_PIC_FLAGS(NamedFlag):
    FORCEINTRA = 1
    FORCEIDR = 2
    OUTPUT_SPSPPS = 4
    EOS = 8


class NV_ENC_PIC_TYPE(NamedInteger):
    P = 0
    B = 1
    I = 2  # noqa: E741
    IDR = 3
    UNKNOWN = 255


class NV_ENC_PIC_PARAMS:
    """Parameters of one frame for Encode.

    `inputTimeStamp` returns with the frame's packet; `encodePicFlags` is of NV_ENC_PIC_FLAGS.
    """

    def __init__(self) -> None:
        self.inputTimeStamp = 0
        self.encodePicFlags = 0
