"""Describes a video: size, exact number of frames, rate, codec and colour."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tf_nvcodec.python import loader
from tf_nvcodec.python.arguments import contents_from, file_name, timeout_from

MAX_PIXELS = 1 << 26  # 8192 x 8192: more than 8K UHD, less than forged headers claim
MAX_PACKETS = 1 << 23  # 77 hours at 30 frames per second


class VideoInfo(NamedTuple):
    """Scalars that describe a video stream, as tensors.

    Attributes:
      width: int32, pixels of a stored frame.
      height: int32, pixels of a stored frame.
      num_frames: int64, the frames that a full decode shows.
      fps: float64, average frames per second.
      duration: float64, seconds from the first frame's pts to the end of the last frame.
      codec: string, FFmpeg's name, such as "h264".
      pixel_format: string, FFmpeg's name of the stored format, such as "yuv420p".
      bit_depth: int32, bits of a luma sample.
      rotation: int32, degrees clockwise to turn a stored frame for display.
      color_space: string, FFmpeg's name of the matrix, such as "bt709", or "unknown".
      color_range: string, "limited", "full" or "unknown".
      has_audio: bool, whether there is an audio stream beside the video.
      sample_aspect_ratio: float64, width of a pixel over its height; 1 when unknown.
      color_primaries: string, FFmpeg's name of the primaries, such as "bt2020", or "unknown".
      color_transfer: string, FFmpeg's name of the transfer function, such as "smpte2084" (PQ) or
        "arib-std-b67" (HLG), or "unknown".
      mirrored: bool, whether a stored frame is mirrored left to right for display. The mirror comes
        before the rotation.
    """

    width: tf.Tensor
    height: tf.Tensor
    num_frames: tf.Tensor
    fps: tf.Tensor
    duration: tf.Tensor
    codec: tf.Tensor
    pixel_format: tf.Tensor
    bit_depth: tf.Tensor
    rotation: tf.Tensor
    color_space: tf.Tensor
    color_range: tf.Tensor
    has_audio: tf.Tensor
    sample_aspect_ratio: tf.Tensor
    color_primaries: tf.Tensor
    color_transfer: tf.Tensor
    mirrored: tf.Tensor


def probe(
    contents: tf.types.experimental.TensorLike,
    *,
    max_pixels: int = MAX_PIXELS,
    max_frames: int = 0,
    max_packets: int = MAX_PACKETS,
    timeout: float | None = None,
    name: str | None = None,
) -> VideoInfo:
    """Describes the video stream in `contents`. It counts the packets and decodes one frame.

    Args:
      contents: Scalar string, the bytes of a video file.
      max_pixels: Larger coded pictures are refused; 0 is no limit.
      max_frames: Streams with more frames are refused; 0 is no limit.
      max_packets: Streams with more packets are refused; 0 is no limit.
      timeout: The call ends after so many seconds; None or 0 is no limit.
      name: The name of the op.

    Returns:
      A `VideoInfo` of scalar tensors.

    Raises:
      TypeError: contents is a path, a file or no string.
      tf.errors.InvalidArgumentError: The bytes are no readable container, or have no video stream.
      tf.errors.DataLossError: No frame of the video stream can be decoded.
      tf.errors.ResourceExhaustedError: A limit was exceeded.
      tf.errors.DeadlineExceededError: The timeout was over.
    """
    return VideoInfo(
        *loader.ops.video_probe(
            contents=contents_from(contents),
            max_pixels=max_pixels,
            max_frames=max_frames,
            max_packets=max_packets,
            timeout=timeout_from(timeout),
            name=name,
        )
    )


def probe_file(name: str, *, timeout: float | None = None) -> VideoInfo:
    """Does what `probe` does for a file of any of TensorFlow's file systems, read by range.

    Raises:
      tf.errors.NotFoundError: And other errors of the file system; else as `probe`.
    """
    return VideoInfo(
        *loader.ops.video_probe(
            contents=np.array(file_name(name), object),
            source="files",
            timeout=timeout_from(timeout),
        )
    )
