"""PyNvVideoCodec's encoder: CreateEncoder, Encode, EndEncode, Reconfigure."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Union

from tf_nvcodec.compat import encode_parameters
from tf_nvcodec.compat.decoder_options import handle_number
from tf_nvcodec.compat.demuxer import demuxer_of
from tf_nvcodec.compat.encode_backend import check_backend, open_encoder
from tf_nvcodec.compat.encode_cpu import b_frames_of
from tf_nvcodec.compat.encode_reconfigure import (
    EncodeReconfigureParams,
    rate_of,
    reconfigure_params,
)
from tf_nvcodec.compat.encoder_enums import NV_ENC_PIC_FLAGS, NV_ENC_PIC_PARAMS, NV_ENC_PIC_TYPE
from tf_nvcodec.compat.encoder_library import EncodedPacket, Nvenc
from tf_nvcodec.compat.enums import ColorRange
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCException, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.frames_in import address, host_bytes
from tf_nvcodec.compat.gpu_frames_in import gpu_frame, is_on_gpu
from tf_nvcodec.compat.integers import INT32_MAX, whole
from tf_nvcodec.compat.ownership import Single, Turns

_LONGEST_SIDE = 65536
_PICTURE_TYPES = {
    "I": NV_ENC_PIC_TYPE.I,
    "P": NV_ENC_PIC_TYPE.P,
    "B": NV_ENC_PIC_TYPE.B,
    "": NV_ENC_PIC_TYPE.UNKNOWN,
}

_HANDLES = ("cudacontext", "cudastream")

EncodeResult = Union[bytes, list[dict[str, Any]]]


def CreateEncoder(
    width: int,
    height: int,
    format: str | None = None,
    usecpuinputbuffer: bool = True,
    backend: str = "auto",
    **params: Any,
) -> PyNvEncoder:
    """Creates an encoder of frames of `width` x `height` pixels.

    Args:
      width: The width of the frames in pixels.
      height: The height of the frames in pixels.
      format: The format of the frames in memory, with rows without padding: "NV12", "YUV420"
        ("IYUV"), "YUV444", "P010", "YUV444_16bit" (planes of 16-bit words whose upper 10 bits
        count), "ARGB" (bytes B, G, R, A) or "ABGR" (bytes R, G, B, A). `fmt` is another name of
        this argument.
      usecpuinputbuffer: Where NVENC reads the frames: True for host memory, False for the GPU's.
        Encode takes frames in both and copies them if necessary.
      backend: "cpu" is libx264, libx265 or SVT-AV1; "nvenc" is a GPU's NVENC, or an error. "auto"
        is "cpu", unless TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set and NVENC takes the parameters, by
        the same rule as in encode_video; the log says why not, once for each reason.
      **params: See docs/pynvvideocodec_encoding.md. Also `cudacontext`, which must be 0 or the
        primary context of NVENC's GPU, and `cudastream`: frames on a GPU are read after its work.
        And `source_av_format_context`, a demuxer's GetAVFormatInputContext() or its int(): the
        frames come from there, which gives the frame rate, if `fps` does not, and the range.

    Raises:
      InvalidValueError: (a ValueError) A parameter, size or format is not allowed; the message
        names it, its value and what is allowed.
      PyNvVCExceptionUnsupported: This machine's encoder cannot do it, there is no NVENC for
        backend="nvenc", or another AV1 encoder is open (SVT-AV1 runs one at a time in a process).

    Warns:
      IgnoredParameterWarning: A parameter has no effect here; the message says why.
    """
    if format is None:
        format = params.pop("fmt", None)
    if not isinstance(format, str):
        raise InvalidValueError(f'format must be a name such as "NV12"; got {format!r}')
    source = params.pop("source_av_format_context", None)
    if source is not None:
        demuxer = demuxer_of("source_av_format_context", source)
        rate = demuxer._frame_rate()
        params.setdefault("fps", f"{rate.numerator}/{rate.denominator}")
    context, stream = (handle_number(name, params.pop(name, 0)) for name in _HANDLES)
    return PyNvEncoder(
        *(whole("width", width, 1, _LONGEST_SIDE), whole("height", height, 1, _LONGEST_SIDE)),
        *(format, params),
        full_range=source is not None and demuxer.ColorRange() == ColorRange.JPEG,
        backend=check_backend(backend),
        frames_on_gpu=not usecpuinputbuffer,
        cuda_context=context,
        cuda_stream=stream,
    )


class PyNvEncoder(Single):
    """An encoder; CreateEncoder makes it.

    Calls from several threads wait for each other. In a fork they are a PyNvVCException.
    """

    def __init__(
        self,
        width: int,
        height: int,
        fmt: str,
        params: Mapping[str, Any],
        full_range: bool = False,
        backend: str = "auto",
        frames_on_gpu: bool = False,
        cuda_context: int = 0,
        cuda_stream: int = 0,
    ) -> None:
        values = encode_parameters.read(params, width, height)
        nvenc = Nvenc(values.gpu, frames_on_gpu, cuda_context)
        native = open_encoder(params, values, width, height, fmt, full_range, backend, nvenc)
        self._native = native
        self._close = weakref.finalize(self, native.free)
        self._close.atexit = False  # a daemon thread may still be encoding
        self._guard = Turns("this encoder")
        self._sets = native.parameter_sets()
        self._values = values
        self._rate = reconfigure_params(values)
        self._stream = cuda_stream
        self._frames = 0
        self._in_dicts = False
        self._ended = False

    def Encode(
        self,
        frame: Any,
        params: NV_ENC_PIC_PARAMS | NV_ENC_PIC_FLAGS | int | None = None,
        sei: Any = None,
    ) -> EncodeResult:
        """Encodes one frame.

        Args:
          frame: The bytes of a frame in any shape ([H * 3 / 2, W], [H, W, 4], one dimension, ...):
            bytes or another buffer, a NumPy array, a TensorFlow tensor, an object with __array__,
            __dlpack__ or __cuda_array_interface__, or an object whose cuda() returns the planes. It
            is in host memory or on a GPU, where rows may have a pitch. The frame may change once
            this returns.
          params: NV_ENC_PIC_FLAGS.FORCEIDR or 0, or an NV_ENC_PIC_PARAMS with a flag and a time
            stamp.
          sei: Not supported; must be None.

        Returns:
          The stream's next bytes, or b"" while the encoder looks ahead: Annex B for H.264 and HEVC,
          temporal units of OBUs for AV1. With NV_ENC_PIC_PARAMS, as in PyNvVideoCodec 2.2, a list
          of packets, each a dictionary with "data" (bytes), "timestamp" (inputTimeStamp of the
          frame) and "picture_type" (NV_ENC_PIC_TYPE).

        Raises:
          InvalidValueError: The frame has another size or dtype, or the time stamp more than 64
            bits.
          PyNvVCExceptionUnsupported: SEI and other flags; encoding after EndEncode; a frame on a
            GPU without its driver.
          PyNvVCException: The encoder failed.
        """
        if sei:
            raise PyNvVCExceptionUnsupported("sei: this encoder inserts no SEI messages")
        flags, timestamp = self._read(params)
        with self._guard.turn():
            self._check_open()
            stamp = self._frames if timestamp is None else timestamp
            packets = self._send(frame, stamp, bool(flags & NV_ENC_PIC_FLAGS.FORCEIDR))
            self._sets = self._native.parameter_sets()
            self._frames += 1
            self._in_dicts |= timestamp is not None
            return self._result(packets, timestamp is not None)

    def _send(self, frame: Any, stamp: int, force_key: bool) -> list[EncodedPacket]:
        size = self._native.frame_bytes
        if is_on_gpu(frame):
            memory = gpu_frame(frame, size, self._native, self._stream)
            return self._native.encode_gpu(memory.gpu, memory.rows, stamp, force_key)
        data = host_bytes(frame, size)
        return self._native.encode(address(data), data.nbytes, stamp, force_key)

    def EndEncode(self) -> EncodeResult:
        """Ends the stream and returns what the encoder still holds, in the same form as Encode.

        No frame may follow. After an AV1 encoder has ended, another one can be opened.
        """
        with self._guard.turn():
            if self._ended:
                return [] if self._in_dicts else b""
            packets = self._native.finish()
            self._sets = self._native.parameter_sets()
            self._ended = True
            self._close()
            return self._result(packets, self._in_dicts)

    def GetSequenceParams(self) -> bytes:
        """Returns SPS and PPS in Annex B, for HEVC with the VPS; for AV1 the sequence header OBU.

        AV1's header is final from the first packet on. Before it, SVT-AV1 announces less than it
        uses, and NVENC nothing.
        """
        with self._guard.turn():
            return self._sets

    def GetNumBFrames(self) -> int:
        """Returns the largest number of B-frames in a row: `bf`, else the preset's.

        For AV1 it is the number of frames between two that are coded in the order of display.
        """
        with self._guard.turn():
            return b_frames_of(self._values, self._native.settings)

    def GetEncodeReconfigureParams(self) -> EncodeReconfigureParams:
        """Returns a copy of the current parameters that Reconfigure can change."""
        with self._guard.turn():
            return self._rate.copy()

    def Reconfigure(self, params: EncodeReconfigureParams) -> bool:
        """Changes bitrate, VBV buffer and frame rate from the next frame on, in the same stream.

        libx264 can do this, and NVENC, which starts a new group of pictures. libx265 and SVT-AV1
        cannot, and no encoder can enter or leave rc constqp. With rc constqp, which an encoder
        without a bitrate has, any call is an error.

        Raises:
          InvalidValueError: A value is not allowed.
          PyNvVCExceptionUnsupported: The encoder cannot change the value in a running stream.

        Warns:
          IgnoredParameterWarning: `vbvInitialDelay` changes with `vbvBufferSize`, as in the guide's
            sample. The new size holds; the start of the buffer is past.
        """
        with self._guard.turn():
            self._check_open()
            wanted = params.copy()
            rate = rate_of(self._rate, wanted, self._values.codec)
            if rate is not None:
                self._native.set_rate(*rate)
            self._rate = wanted
        return True

    def _check_open(self) -> None:
        if self._ended:
            raise PyNvVCException("the encoder has ended: create another one for more frames")

    @staticmethod
    def _read(params: NV_ENC_PIC_PARAMS | int | None) -> tuple[NV_ENC_PIC_FLAGS, int | None]:
        timestamp = None
        flags = params or 0
        if isinstance(flags, NV_ENC_PIC_PARAMS):
            timestamp = whole("inputTimeStamp", flags.inputTimeStamp)
            flags = whole("encodePicFlags", flags.encodePicFlags, 0, INT32_MAX)
        if flags not in (0, NV_ENC_PIC_FLAGS.FORCEIDR):
            raise PyNvVCExceptionUnsupported(f"encodePicFlags={flags}: only FORCEIDR or 0")
        return NV_ENC_PIC_FLAGS(flags), timestamp

    @staticmethod
    def _result(packets: list[EncodedPacket], in_dicts: bool) -> EncodeResult:
        if not in_dicts:
            return b"".join(packet.data for packet in packets)
        return [
            {
                "data": packet.data,
                "timestamp": packet.timestamp,
                "picture_type": NV_ENC_PIC_TYPE.IDR if packet.key else _PICTURE_TYPES[packet.type],
            }
            for packet in packets
        ]
