"""Clips of a batch of videos, as one tensor of frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from typing_extensions import Unpack

from tf_nvcodec.python import gpu_call, loader
from tf_nvcodec.python.arguments import batch_of_contents, part_from
from tf_nvcodec.python.dataset_clips import clips_from
from tf_nvcodec.python.decode import FrameOptions, TensorLike, integers, op_arguments

_KEYWORDS = ("center_crop", "on_error")


class DecodedClips(NamedTuple):
    """The clips of a batch of B videos: K clips of T frames each.

    Attributes:
      frames: [B, K, T, H, W, C], [B, K, T, C, H, W], or [B, K, T, bytes] for the packed pixel
        formats.
      pts: float64 [B, K, T], seconds; 0 for black frames.
      mask: bool [B, K, T], True for frames of the video, False for padding and for replacements
        of damaged frames.
      status: string [B], empty if the video was decoded, else what is wrong with it. The row of
        such a video has black frames, pts of 0 and a mask of False.

    In eager calls, all but the frames are in host memory, whatever device the frames are on.
    """

    frames: tf.Tensor
    pts: tf.Tensor
    mask: tf.Tensor
    status: tf.Tensor


class ClipOptions(FrameOptions, total=False):
    """Keywords of `decode_clips` about frames; `decode_video` explains them."""

    max_frames: int
    name: str | None


def decode_clips(
    contents: TensorLike,
    clip_length: int = 16,
    stride: int | float = 1,
    fps: float | None = None,
    clips_per_video: int = 1,
    sampling: str = "uniform",
    pad: str = "repeat",
    seed: TensorLike = 0,
    size: TensorLike | None = None,
    *,
    center_crop: float | None = None,
    on_error: str = "skip",
    **options: Unpack[ClipOptions],
) -> DecodedClips:
    """Decodes `clips_per_video` clips of `clip_length` frames from each video of a batch.

    The clips are those that `VideoDataset` chooses. A server gets videos in batches, and one that
    is broken must not spoil the others: it costs its own row only. The videos are decoded side by
    side: on the CPU they share its cores, on a GPU its NVDEC engines. Each frame is written once,
    to its place in the batch.

    For images instead of clips, pass clip_length=1: `clips_per_video` frames spread over the video.

    Args:
      contents: String [B], the bytes of a video file each.
      clip_length: T, the frames of a clip.
      stride: The distance from one frame of a clip to the next: an int in frames, a float in
        seconds.
      fps: Takes frames at this rate, whatever the video's own rate is; `stride` then counts these
        frames. None takes the video's own frames.
      clips_per_video: K, the clips of a video.
      sampling: Where the clips begin. "uniform" spreads them from end to end, a single one is in
        the middle; "random" draws their places from `seed`; "center" and "start" take the middle
        and the beginning.
      pad: What fills a clip that is longer than its video: "repeat" (its last frame), "zero" (black
        frames), "wrap" (the video from its beginning), or "drop": such a video has no clips, which
        its status says.
      seed: Scalar integer for sampling="random". The same seed gives the same clips for a video at
        the same place of the batch.
      size: (height, width) to resize to inside the decode. None keeps the size of the frames; then
        a video with frames of another size than the first one has a status that says so.
      center_crop: The part of the largest rectangle in the middle of the frame that has the shape
        of `size`; it is cut out before the resize, so that the picture is not distorted. 1.0 takes
        all of it. 0.875 = 224 / 256 is what resizing the short side to 256 and cutting 224 pixels
        out of its middle gives. None takes the whole frame, and may distort it.
      on_error: What happens with a video that can't be decoded. "skip" leaves it out, and
        `DecodedClips.status` says why. "repeat" does so only if it can't be read at all: it
        replaces a damaged frame by the last good frame of its clip. "raise" fails the call.
      **options: The other options of `decode_video`. max_frames and max_bytes are for the whole
        batch, timeout and max_packets for each video: one that takes longer is one that can't be
        decoded.

    Returns:
      `DecodedClips(frames, pts, mask, status)`. If no video can be decoded, the frames are black
      and, without `size`, have height and width 0.

    Raises:
      TypeError: contents is no batch of strings; another argument has a wrong type; a keyword is
        unknown.
      ValueError: An argument is none of its strings, below its minimum, or contradicts another.
      tf.errors.InvalidArgumentError: The options do not fit each other. With on_error="raise", also
        a video that can't be read; the message names it by its number.
      tf.errors.ResourceExhaustedError: The batch exceeds max_frames or max_bytes, or there is no
        memory for it.
      tf.errors.FailedPreconditionError: backend="nvdec" without an NVDEC; the message says why.
        With on_error="raise", the other errors of `decode_video` are raised, too.
    """
    clips = clips_from(
        clip_length, stride, None, fps, clips_per_video, sampling, clip_at=None, pad=pad
    )
    choice = {name: value for name, value in clips.attributes.items() if name != "clip_step"}
    attributes = op_arguments(size, options, ClipOptions, _KEYWORDS)
    geometry = {name: attributes.pop(name) for name in ("size", "crop")}
    attributes["center_crop"] = part_from(center_crop, "center_crop")
    inputs = {
        "contents": batch_of_contents(contents),
        "period": np.float64(clips.period),
        "seed": integers(seed, "seed"),
        **geometry,
    }
    decoded = gpu_call.call(
        loader.ops.video_decode_clips,
        inputs,
        {**attributes, **choice, "on_error": on_error},
        host_outputs=("pts", "mask"),
    )
    return DecodedClips(*decoded)
