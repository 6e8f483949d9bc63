"""Video bytes to tensors of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import tensorflow as tf
from typing_extensions import TypeAlias, TypedDict, Unpack

from tf_nvcodec.python import gpu_call, loader
from tf_nvcodec.python.arguments import (
    contents_from,
    in_host_memory,
    lengths_from,
    size_from,
    time_dtype,
    timeout_from,
)
from tf_nvcodec.python.probe import MAX_PACKETS, MAX_PIXELS

_END = tf.int64.max

TensorLike: TypeAlias = tf.types.experimental.TensorLike


class DecodedVideo(NamedTuple):
    """Frames and the times at which they are shown.

    Attributes:
      frames: [T, H, W, C], [T, C, H, W], or [T, bytes] for the packed pixel formats.
      pts: float64 [T], seconds. In eager calls it is in host memory, whatever device the frames
        are on.
    """

    frames: tf.Tensor
    pts: tf.Tensor


class DecodedVideoWithValidity(NamedTuple):
    """A `DecodedVideo`, and which of its frames are not replacements.

    Attributes:
      frames: As in `DecodedVideo`.
      pts: As in `DecodedVideo`.
      valid: bool [T], False where on_error="repeat" replaced a damaged frame by another one; in
        host memory like `pts`.
    """

    frames: tf.Tensor
    pts: tf.Tensor
    valid: tf.Tensor


class FrameOptions(TypedDict, total=False):
    """Keywords of every function that decodes; `decode_video` explains them."""

    crop: TensorLike | None
    resize_method: str
    antialias: bool
    pixel_format: str
    dtype: tf.DType | str
    layout: str
    mean: float | Sequence[float] | None
    std: float | Sequence[float] | None
    apply_rotation: bool
    deinterlace: str
    chroma_upsampling: str
    color_space: str | None
    color_range: str | None
    backend: str
    num_threads: int
    max_pixels: int
    max_packets: int
    max_bytes: int
    timeout: float | None


class DecodeOptions(FrameOptions, total=False):
    """Keywords that `decode_video` and `decode_frames_at` share; `decode_video` explains them."""

    on_error: str
    max_frames: int
    name: str | None


def op_arguments(
    size: TensorLike | None,
    options: Mapping[str, Any],
    keywords: type = DecodeOptions,
    others: Iterable[str] = (),
) -> dict[str, Any]:
    """Returns the inputs and attributes of the decoding ops.

    Args:
      size: (height, width) or None.
      options: The keywords that were given.
      keywords: A TypedDict of the allowed keywords.
      others: Arguments that the error lists too.

    Raises:
      TypeError: A keyword is not allowed.
    """
    unknown = sorted(set(options) - set(keywords.__annotations__))
    if unknown:
        known = ", ".join([*others, *keywords.__annotations__])
        raise TypeError(f"unknown keyword {unknown[0]!r}; the keywords are: {known}")
    arguments: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
    crop = arguments.pop("crop", (0, 0, 0, 0))
    arguments["crop"] = lengths_from(crop, "crop", "(top, left, height, width)")
    arguments["size"] = size_from(size)
    arguments["max_pixels"] = options.get("max_pixels", MAX_PIXELS)
    arguments["max_packets"] = options.get("max_packets", MAX_PACKETS)
    arguments["timeout"] = timeout_from(options.get("timeout"))
    for key in ("mean", "std"):
        if key in arguments:
            arguments[key] = _per_channel(arguments[key])
    return arguments


def _decode(
    op: Callable[..., Any],
    inputs: dict[str, Any],
    size: TensorLike | None,
    options: Mapping[str, Any],
) -> Any:
    attributes = op_arguments(size, options)
    geometry = {name: attributes.pop(name) for name in ("size", "crop")}
    return gpu_call.call(op, {**inputs, **geometry}, attributes, host_outputs=("pts", "valid"))


def integers(value: TensorLike, name: str) -> tf.Tensor:
    """Returns `value` as int64. Raises a TypeError, which names it, if it is no integer."""
    # TensorFlow reads True as 1.
    if any(isinstance(v, (bool, np.bool_)) for v in tf.nest.flatten(value)):
        raise TypeError(f"{name} must be integers, got bool")
    with in_host_memory():
        tensor = tf.convert_to_tensor(value, dtype_hint=tf.int64, name=name)
        if not tensor.dtype.is_integer:
            raise TypeError(f"{name} must be integers, got {tensor.dtype.name}")
        return tf.cast(tensor, tf.int64)


def _seconds(value: TensorLike) -> tf.Tensor:
    with in_host_memory():
        # The hint keeps Python's floats from being rounded to float32.
        dtype = time_dtype(value)
        tensor = tf.convert_to_tensor(value, dtype_hint=dtype, name="timestamps")
        if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
            raise TypeError(f"timestamps must be numbers of seconds, got {tensor.dtype.name}")
        return tf.cast(tensor, dtype)


def _per_channel(values: Any) -> list[float]:
    return np.atleast_1d(np.asarray(values, np.float64)).tolist()


def result_of(outputs: Any, return_valid: bool) -> DecodedVideo | DecodedVideoWithValidity:
    """Returns what a decoding function gives for an op's outputs (frames, pts, valid)."""
    return DecodedVideoWithValidity(*outputs) if return_valid else DecodedVideo(*outputs[:2])


@overload
def decode_video(
    contents: TensorLike,
    start: TensorLike = ...,
    stop: TensorLike | None = ...,
    stride: TensorLike = ...,
    size: TensorLike | None = ...,
    *,
    return_valid: Literal[False] = ...,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo: ...
@overload
def decode_video(
    contents: TensorLike,
    start: TensorLike = ...,
    stop: TensorLike | None = ...,
    stride: TensorLike = ...,
    size: TensorLike | None = ...,
    *,
    return_valid: Literal[True],
    **options: Unpack[DecodeOptions],
) -> DecodedVideoWithValidity: ...
def decode_video(
    contents: TensorLike,
    start: TensorLike = 0,
    stop: TensorLike | None = None,
    stride: TensorLike = 1,
    size: TensorLike | None = None,
    *,
    return_valid: bool = False,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo | DecodedVideoWithValidity:
    """Decodes frames `start`, `start + stride`, ... below `stop`, by Python's slice rules.

    Frames are numbered from 0 in the order in which a full decode shows them. Only the packets that
    these frames depend on are decoded.

    Args:
      contents: Scalar string, the bytes of a video file.
      start: Scalar integer, the first frame; a negative number counts from the end.
      stop: Scalar integer, the exclusive end of the range; a negative number counts from the end;
        None is the end of the video.
      stride: Scalar integer of at least 1, the distance from one frame to the next.
      size: (height, width) to resize to inside the decode; an integer is the shorter side, and the
        other one follows in proportion, rounded down; None keeps the size of the frames.
      return_valid: Return a `DecodedVideoWithValidity`.
      **options: See below; `decode_frames_at` takes the same.

    Keyword Args:
      crop: (top, left, height, width) in pixels of the frame as shown, cut out before the resize.
      resize_method: "nearest", "bilinear", "bicubic", "area" or "lanczos3", as tf.image.resize
        defines them. Planes are resized before they become RGB.
      antialias: As in tf.image.resize: where the frame shrinks, bilinear, bicubic and lanczos3
        take all source pixels into account.
      pixel_format: "rgb", "bgr" or "gray"; or a packed format of FFmpeg's rawvideo, uint8
        [T, bytes]: "nv12", "yuv420p", "yuv444p", "p010", or "native", the stored format unchanged
        (never turned, mirrored, cropped or resized).
      dtype: uint8; for rgb, bgr and gray also uint16 (0 to 65535), float16 and float32 (0 to 1).
      layout: "thwc" or "tchw".
      mean: Float frames become (x - mean) / std; a number, or one for each channel.
      std: The divisor, likewise.
      apply_rotation: Mirror and turn the frames as the container's display matrix says.
      deinterlace: "none" leaves interlaced frames as they are stored, with both fields woven.
        "bob" keeps the field shown first and replaces each row of the other field by the mean of
        the rows beside it, in code values, rounded half up. The number of frames stays. It comes
        first, for "native" too, and is done on the CPU: backend="nvdec" is refused.
      chroma_upsampling: "nearest", or "bilinear" with the stream's chroma siting.
      color_space: "bt601", "bt709" or "bt2020", the matrix of ITU-T H.273 to use instead of the
        stream's tag, or of the guess for streams without a tag (docs/decode.md).
      color_range: "limited" or "full", instead of the stream's tag or the guess.
      backend: "cpu" decodes with FFmpeg. "nvdec" decodes on the GPU that the op is placed on, or on
        the first GPU for an op on the CPU, or raises. "auto" is "cpu" for an op on the CPU; on a
        GPU it is "nvdec" for streams that NVDEC decodes exactly (docs/nvdec.md). The frames are on
        the op's device.
      num_threads: The threads of this call; 0 takes the cores that no other decode of this process
        uses. With NVDEC, how many parts of the stream are decoded side by side, at most 8; 0 is 8.
      on_error: What happens with a damaged frame: "raise" fails the call, "skip" leaves the frame
        out, "repeat" replaces it by the last good frame (leading frames by the first good one). A
        frame is damaged if its packet is, or a packet that its decoding depends on.
      max_pixels: Larger coded pictures are refused; 0 is no limit.
      max_frames: Larger numbers of frames are refused; 0 is no limit.
      max_packets: Streams of more packets are refused while they are indexed; 0 is no limit.
      max_bytes: Larger outputs are refused; 0 is no limit.
      timeout: The call ends after so many seconds, also while it indexes the video; None or 0 is no
        limit. What one packet needs is not interrupted.
      name: The name of the op.

    Returns:
      `DecodedVideo(frames, pts)`: uint8 [T, H, W, 3] in RGB unless the options say otherwise, and
      float64 [T] in seconds.

    Raises:
      TypeError: contents is a path, a file or no string; start, stop, stride, size or crop are not
        integers; dtype is none of the four; a keyword is unknown.
      ValueError: An option is none of its strings.
      tf.errors.InvalidArgumentError: The bytes are no readable video, or the options do not fit it.
      tf.errors.DataLossError: A requested frame is damaged; the message names frame and packet.
      tf.errors.ResourceExhaustedError: A limit was exceeded, or memory ran out.
      tf.errors.DeadlineExceededError: The timeout was over; the message says how far the call came.
      tf.errors.FailedPreconditionError: backend="nvdec" without an NVDEC; the message says why.
      tf.errors.UnimplementedError: The codec, format or matrix is not supported; with
        backend="nvdec", also a stream that this GPU does not decode.
    """
    inputs = {
        "contents": contents_from(contents),
        "start": integers(start, "start"),
        "stop": integers(_END if stop is None else stop, "stop"),
        "stride": integers(stride, "stride"),
    }
    return result_of(_decode(loader.ops.video_decode, inputs, size, options), return_valid)


@overload
def decode_frames_at(
    contents: TensorLike,
    indices: TensorLike | None = ...,
    timestamps: TensorLike | None = ...,
    size: TensorLike | None = ...,
    *,
    return_valid: Literal[False] = ...,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo: ...
@overload
def decode_frames_at(
    contents: TensorLike,
    indices: TensorLike | None = ...,
    timestamps: TensorLike | None = ...,
    size: TensorLike | None = ...,
    *,
    return_valid: Literal[True],
    **options: Unpack[DecodeOptions],
) -> DecodedVideoWithValidity: ...
def decode_frames_at(
    contents: TensorLike,
    indices: TensorLike | None = None,
    timestamps: TensorLike | None = None,
    size: TensorLike | None = None,
    *,
    return_valid: bool = False,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo | DecodedVideoWithValidity:
    """Decodes the frames at `indices`, or on screen at `timestamps`; order and duplicates are kept.

    Each frame is decoded once, however often and in whatever order it is listed.

    Args:
      contents: Scalar string, the bytes of a video file.
      indices: Integer [T], numbers of frames; a negative number counts from the end.
      timestamps: Float [T], seconds on the scale of pts. Each gives the frame with the largest pts
        that is not after it; a float32 timestamp takes a pts within half an ulp for its own. Pass
        either `indices` or `timestamps`.
      size: (height, width) to resize to inside the decode; None keeps the size of the frames.
      return_valid: Return a `DecodedVideoWithValidity`.
      **options: As in `decode_video`.

    Returns:
      `DecodedVideo(frames, pts)` with T frames.

    Raises:
      TypeError: Indices that are not integers, or timestamps that are not numbers.
      ValueError: Both or neither of `indices` and `timestamps`.
      tf.errors.InvalidArgumentError: As `decode_video`, and for an index or timestamp outside the
        video, which the message names. The other errors are those of `decode_video`.
    """
    if (indices is None) == (timestamps is None):
        raise ValueError("pass exactly one of indices and timestamps")
    positions = _seconds(timestamps) if indices is None else integers(indices, "indices")
    inputs = {"contents": contents_from(contents), "positions": positions}
    return result_of(
        _decode(loader.ops.video_decode_frames_at, inputs, size, options), return_valid
    )
