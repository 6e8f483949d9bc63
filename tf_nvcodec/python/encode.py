"""Encodes tensors of frames to the bytes of a video."""

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
        # TensorFlow would make int32 of a list of uint8 arrays.
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
    """Returns `value`, which is None or at least `least`; raises TypeError or ValueError."""
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
    """Whether the call may use NVENC. NvencIsOn() in C++ decides alike for "auto"."""
    switched_on = os.environ.get("TF_NVCODEC_EXPERIMENTAL_NVENC") == "1"
    return backend == "nvenc" or (backend == "auto" and switched_on)


def _eagerly_in_host_memory() -> contextlib.AbstractContextManager[Any]:
    """Keeps frames that are no tensor yet in host memory. In a graph, TensorFlow places them."""
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

    Frames on a GPU stay there if its NVENC encodes them. For this the backend has to be NVENC and
    the op has to be on that GPU: an eager op follows the frames; in a graph, TensorFlow or
    tf.device places it. For the encoders of the CPU, frames are copied to host memory.

    Args:
      frames: [T, H, W, 3] for "rgb" and "bgr", [T, H, W, 1] for "gray": uint8 (0 to 255), uint16
        (0 to 65535), or float16 or float32 in [0, 1] (clipped; values far outside are an error).
        uint8 [T, frame_bytes] for the packed input formats.
      fps: Scalar, frames per second. The NTSC rates as usually written (29.97, 23.976, 59.94, ...)
        mean n * 1000 / 1001; other values mean the simplest fraction within 1e-7 of them.
      codec: "h264" (libx264), "hevc" (libx265), "av1" (libsvtav1), "vp9" (libvpx-vp9), "mjpeg" or
        "ffv1" (lossless).
      container: "mp4" (all but ffv1), "mov" (h264, hevc, mjpeg, ffv1), "mkv" (all), "webm" (av1,
        vp9), "avi" (h264, mjpeg, ffv1), "ts" (h264, hevc), "ivf" (av1, vp9), "obu" (av1), or
        "raw": the elementary stream, Annex B for h264 and hevc, OBU for av1, IVF for vp9, JPEGs
        for mjpeg. None is "mp4".
      pts: Float [T], the seconds at which frames are shown, instead of fps; strictly increasing,
        from 0 on. mkv and webm keep milliseconds; ts starts later by the encoder's delay; avi, raw
        and obu keep no times. The last frame lasts as long as the one before it.
      input_format: "rgb", "bgr", "gray", or a packed format of FFmpeg's rawvideo: "nv12",
        "yuv420p", "yuv444p", "p010".
      size: (height, width) of packed frames.
      crf: Constant quality on the codec's own scale, lower is better: h264 and hevc 0 to 51
        (default 23 and 28; 0 is lossless for h264), av1 1 to 63 (35), vp9 0 to 63 (31), mjpeg's
        quantiser 1 to 31 (3).
      bitrate: The average bits per second, instead of crf.
      gop: The most frames from one key frame to the next; encoders also start anew at a cut. The
        default is the codec's (250 for h264 and hevc), 1 for ffv1.
      bf: The most B-frames in a row, for h264 and hevc; 0 in avi, and in mp4 and mov with uneven
        pts.
      preset: Speed against size: h264 and hevc "ultrafast" to "placebo" ("medium"), av1 0 to 13,
        vp9 0 to 8.
      pixel_format: The format of the stream by FFmpeg's name ("yuv420p", "yuv422p10le", "yuv444p",
        "gray", "gbrp", ...). The default is "yuv420p", or "yuv420p10le" for uint16, and for
        yuv444p and p010 their own chroma and depth, if the codec has them; ffv1 keeps RGB and
        gray samples as they are.
      color_space: "bt601", "bt709" or "bt2020". The default is bt709 for a width of at least 1280
        or a height above 576, else bt601. RGB is converted by the equations of ITU-T H.273; a
        chroma sample is the mean of the pixels that it covers. Packed frames are not converted: it
        says what they are. The stream is tagged so that it decodes to the same colours.
      color_range: "limited" or "full". The default is limited, but full for gray and RGB streams
        and for mjpeg, which is always bt601 in full range.
      num_threads: 0 leaves the number to the encoder, which takes the machine for one video. Give 1
        or 2 where a pipeline encodes many videos at once.
      fragmented: Write a fragmented MP4 or MOV, a fragment for each group of pictures.
      faststart: Put the index of an MP4 or MOV in front of the frames.
      options: The encoder's own options by FFmpeg's names, such as {"tune": "film"} or
        {"x265-params": "lossless=1"}. All encoders take the tags color_primaries, color_trc and sar
        (width of a pixel over its height), such as {"color_trc": "smpte2084", "sar": "4/3"}.
      backend: "cpu" encodes as described above. "nvenc" encodes h264, hevc and av1 with the NVENC
        of the op's GPU, or of the first GPU that has one for an op on the CPU, or raises; crf and
        preset are then on NVENC's scales (docs/encode.md). "auto" is "cpu", unless
        TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set and these arguments mean the same to NVENC, which
        excludes crf, preset and options other than color_primaries, color_trc and sar.
      name: The name of the op.

    Returns:
      Scalar string, the bytes of the file.

    Raises:
      TypeError: frames have another dtype; fps, pts or size are no numbers; options is no
        dictionary.
      ValueError: gop or bitrate is below 1, crf or bf below 0, a list has frames of several shapes,
        or the codec, container, input_format or backend does not exist.
      tf.errors.InvalidArgumentError: The codec or the container does not take a value; the message
        says what it takes.
      tf.errors.FailedPreconditionError: backend="nvenc" without an NVENC; the message names the GPU
        or the library that is missing.
      tf.errors.UnimplementedError: This FFmpeg lacks the encoder; with backend="nvenc", also if
        this GPU cannot make the stream.
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
        # -1 and 0 are the op's defaults.
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
    # This op runs on the CPU, whatever device the frames are on.
    with choices.named():
        return loader.ops.video_encode(**inputs, **attributes)
