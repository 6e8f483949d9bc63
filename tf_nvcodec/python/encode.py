"""Tensors of frames to video bytes."""

from __future__ import annotations

import contextlib
import numbers
import os
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import tensorflow as tf

from tf_nvcodec.python import choices, gpu_call, loader
from tf_nvcodec.python.arguments import in_host_memory, lengths_from

TensorLike = Union[tf.types.experimental.TensorLike, Any]

_DTYPES = (tf.uint8, tf.uint16, tf.float16, tf.float32)


def _to_frames(frames: TensorLike) -> tf.Tensor:
    if isinstance(frames, (list, tuple)) and all(isinstance(f, np.ndarray) for f in frames):
        shapes = sorted({frame.shape for frame in frames})
        if len(shapes) > 1:
            raise ValueError(f"frames must be of one shape; got {shapes}")
        # TensorFlow makes int32 of a list of arrays of uint8.
        frames = np.stack(frames) if frames else frames
    tensor = tf.convert_to_tensor(frames, name="frames")
    if tensor.dtype in _DTYPES:
        return tensor
    cure = (
        "cast them to tf.float32, in [0, 1]"
        if tensor.dtype.is_floating
        else "cast them to tf.uint8 (0 to 255) or tf.uint16 (0 to 65535)"
    )
    raise TypeError(
        f"frames must be uint8, uint16, float16 or float32; got {tensor.dtype.name}: {cure}"
    )


def _to_seconds(values: TensorLike, name: str) -> tf.Tensor:
    if values is None:
        raise TypeError(f"{name} must be a number, got None: leave it out for the default")
    if isinstance(values, numbers.Number):
        values = float(values)  # type: ignore[arg-type]
    with in_host_memory():
        try:
            tensor = tf.convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be numbers, got {repr(values)[:100]}") from None
        if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
            raise TypeError(f"{name} must be numbers, got {tensor.dtype.name}")
        return tf.cast(tensor, tf.float64)


def _at_least(least: int, value: Any, name: str) -> Any:
    """None stays None."""
    if value is None:
        return None
    cure = "or None for the default"
    try:
        low = bool(value < least)
    except TypeError:
        raise TypeError(f"{name} must be a number, {cure}; got {value!r}") from None
    if low:
        raise ValueError(f"{name} must be at least {least}, {cure}; got {value}")
    return value


def _option_texts(options: Any) -> list[str]:
    if not isinstance(options, Mapping):
        form = 'a dictionary, such as {"tune": "film"}'
        raise TypeError(f"options must be {form}; got {options!r}")
    return [f"{name}={_option_text(value)}" for name, value in options.items()]


def _option_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _may_take_nvenc(backend: str) -> bool:
    """As NvencIsOn() of nv/encode_backend.h where that is left to the environment."""
    switched_on = os.environ.get("TF_NVCODEC_EXPERIMENTAL_NVENC") == "1"
    return backend == "nvenc" or (backend == "auto" and switched_on)


def _eagerly_in_host_memory() -> contextlib.AbstractContextManager[Any]:
    """For eager frames that are no tensor yet; in a graph, TensorFlow places them."""
    return in_host_memory() if tf.executing_eagerly() else contextlib.nullcontext()


def encode_video(
    frames: TensorLike,
    fps: TensorLike = 30,
    codec: str = "h264",
    container: str | None = "mp4",
    *,
    pts: TensorLike | None = None,
    input_format: str = "rgb",
    size: TensorLike | None = None,
    crf: float | None = None,
    bitrate: int | None = None,
    gop: int | None = None,
    bf: int | None = None,
    preset: str | int | None = None,
    pixel_format: str | None = None,
    color_space: str | None = None,
    color_range: str | None = None,
    num_threads: int = 0,
    fragmented: bool = False,
    faststart: bool = True,
    options: Mapping[str, Any] | None = None,
    backend: str = "auto",
    name: str | None = None,
) -> tf.Tensor:
    """Encodes frames to the bytes of one video file.

    Equal frames and options give equal bytes on one machine. AV1 encodes of one process run one
    after another.

    Frames on a GPU go to its NVENC where they are, if the backend is to be NVENC and the op is on
    that GPU: eagerly it follows the frames, in a graph TensorFlow or tf.device places it. For the
    CPU's encoders they are copied to host memory.

    Args:
      frames: [T, H, W, 3] for "rgb" and "bgr", [T, H, W, 1] for "gray": uint8, uint16 (0 to
        65535), or float16 or float32 in [0, 1] (clipped; far outside is an error). uint8
        [T, frame_bytes] for the packed input formats.
      fps: Scalar, frames a second. The NTSC rates as usually written (29.97, 23.976, 59.94, ...)
        mean n * 1000 / 1001, other values the simplest fraction within 1e-7 of them.
      codec: "h264" (libx264), "hevc" (libx265), "av1" (libsvtav1), "vp9" (libvpx-vp9), "mjpeg" or
        "ffv1" (lossless).
      container: "mp4" (all but ffv1), "mov" (h264, hevc, mjpeg, ffv1), "mkv" (all), "webm" (av1,
        vp9), "avi" (h264, mjpeg, ffv1), "ts" (h264, hevc), "ivf" (av1, vp9), "obu" (av1), or
        "raw": the elementary stream, Annex B for h264 and hevc, OBU for av1, IVF for vp9, JPEGs
        for mjpeg. None is "mp4".
      pts: Float [T], seconds at which each frame is shown, instead of fps; strictly increasing,
        from 0 on. mkv and webm keep milliseconds; ts starts later by the encoder's delay; avi, raw
        and obu keep no times. The last frame lasts as long as the one before it.
      input_format: "rgb", "bgr", "gray"; or packed as FFmpeg's rawvideo: "nv12", "yuv420p",
        "yuv444p", "p010".
      size: (height, width) of packed frames.
      crf: Constant quality on the codec's own scale, lower is better: h264 and hevc 0 to 51
        (default 23 and 28; h264's 0 is lossless), av1 1 to 63 (35), vp9 0 to 63 (31), mjpeg's
        quantiser 1 to 31 (3).
      bitrate: Bits a second on average, instead of crf.
      gop: Frames from one key frame to the next, at most; encoders also start anew at a cut. The
        default is the codec's (250 for h264 and hevc), 1 for ffv1.
      bf: B-frames in a row, at most; h264 and hevc only, 0 in avi, and in mp4 and mov with uneven
        pts.
      preset: Speed against size: h264 and hevc "ultrafast" to "placebo" ("medium"), av1 0 to 13,
        vp9 0 to 8.
      pixel_format: Of the stream, by FFmpeg's name ("yuv420p", "yuv422p10le", "yuv444p", "gray",
        "gbrp", ...). Default: the frames' own chroma and depth where the codec has them, else
        "yuv420p"; ffv1 keeps RGB and gray samples as they are.
      color_space: "bt601", "bt709" or "bt2020"; default bt709 for a width of at least 1280 or a
        height above 576, else bt601. RGB is converted to it by H.273's equations, chroma being the
        mean of the pixels that it covers; packed frames are taken to have it. The stream is tagged
        so that it decodes to the same colours.
      color_range: "limited" or "full"; default limited, but full for gray and RGB streams and for
        mjpeg, which is bt601 and full range always.
      num_threads: 0: what the encoder finds sensible for one video on this machine. Give 1 or 2
        where a pipeline encodes many videos at once.
      fragmented: Write a fragmented MP4 or MOV, a fragment for each group of pictures.
      faststart: Put the index of an MP4 or MOV in front of the frames.
      options: The encoder's own options by FFmpeg's names, such as {"tune": "film"} or
        {"x265-params": "lossless=1"}.
      backend: "cpu", as all of the above says; "nvenc": h264, hevc and av1 by the NVENC of the GPU
        that the op is on, or, for an op on the CPU, of the first GPU that has one, with crf and
        preset in its terms (docs/encode.md), or an error; "auto": "cpu", unless
        TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set and NVENC takes these frames and options in the same
        meaning, so without crf, preset and options.
      name: Of the op.

    Returns:
      Scalar string, the file.

    Raises:
      TypeError: frames of another dtype; fps, pts or size that are not numbers; options that are
        no dictionary.
      ValueError: gop or bitrate below 1, crf or bf below 0, a list of frames of several shapes, or
        a codec, container, input_format or backend that there is not.
      tf.errors.InvalidArgumentError: What codec or container can't take, and what they would.
      tf.errors.FailedPreconditionError: backend="nvenc" without one; the message names the GPU or
        the library that is missing.
      tf.errors.UnimplementedError: An encoder that this FFmpeg lacks; with backend="nvenc", also
        what this GPU can't make.
      tf.errors.CancelledError: The step was cancelled.
    """
    with _eagerly_in_host_memory():
        tensor = _to_frames(frames)
    inputs = {
        "frames": tensor,
        "fps": _to_seconds(fps, "fps"),
        "pts": _to_seconds([] if pts is None else pts, "pts"),
        "size": lengths_from((0, 0) if size is None else size, "size", "(height, width)"),
    }
    attributes = {
        "codec": codec,
        "container": container or "mp4",
        "input_format": input_format,
        # The op's defaults: -1 and 0.
        "crf": -1.0 if crf is None else _at_least(0, crf, "crf"),
        "bitrate": _at_least(1, bitrate, "bitrate") or 0,
        "gop": _at_least(1, gop, "gop") or 0,
        "bf": -1 if bf is None else _at_least(0, bf, "bf"),
        "preset": "" if preset is None else str(preset),
        "pixel_format": pixel_format or "",
        "color_space": color_space or "",
        "color_range": color_range or "",
        "num_threads": num_threads,
        "fragmented": fragmented,
        "faststart": faststart,
        "options": _option_texts({} if options is None else options),
        "backend": backend,
        "name": name,
    }
    if _may_take_nvenc(backend):
        return gpu_call.call(
            loader.ops.video_encode_on_device, inputs, attributes, follows="frames"
        )
    # On the CPU always, whatever device the frames are on.
    with choices.named():
        return loader.ops.video_encode(**inputs, **attributes)
