"""Compressed clips to frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf
from typing_extensions import Unpack

from tf_nvcodec.python import gpu_call, loader
from tf_nvcodec.python.arguments import batch_of_contents, in_host_memory, lengths_from
from tf_nvcodec.python.decode import TensorLike, op_arguments
from tf_nvcodec.python.decode_clips import ClipOptions


class DecodedPackets(NamedTuple):
    """A batch of B clips of T frames each.

    Attributes:
      frames: [B, T, H, W, C], [B, T, C, H, W], or [B, T, bytes] for the packed pixel formats.
      pts: float64 [B, T], seconds; 0 for black frames.
      mask: bool [B, T], True for frames of the video, False for padding and for replacements of
        damaged frames.
      status: string [B], empty if the clip was decoded, else what is wrong with it. The row of such
        a clip has black frames, pts of 0 and a mask of False.

    In eager calls, all but the frames are in host memory, whatever device the frames are on.
    """

    frames: tf.Tensor
    pts: tf.Tensor
    mask: tf.Tensor
    status: tf.Tensor


def decode_packets(
    packets: TensorLike,
    size: TensorLike | None = None,
    *,
    flip: TensorLike | None = None,
    on_error: str = "raise",
    **options: Unpack[ClipOptions],
) -> DecodedPackets:
    """Decodes a batch of compressed clips, the `packets` of `VideoDataset(decode=False)`.

    The frames are exactly those that the dataset would give with decode=True. The clips of a batch
    are decoded side by side: on the CPU they share its cores, on a GPU its NVDEC engines, and each
    frame is written once, to its place in the batch. The strings may have come over a network or
    out of a TFRecord; they are checked.

    Args:
      packets: String [B], a compressed clip each. All clips have the same number of frames.
      size: (height, width) to resize to inside the decode. None keeps the size of the frames, which
        must then be the same for all clips.
      flip: Bool [B], whether to mirror the clip left to right, such as the dataset's `flipped`.
      on_error: What happens with a clip that can't be decoded. "raise" fails the call. "skip"
        leaves it out, and `DecodedPackets.status` says why. "repeat" does so only if it can't be
        read at all: it replaces a damaged frame by the last good frame of its clip.
      **options: The other options of `decode_video`. crop may also be int32 [B, 4], one for each
        clip, such as the dataset's `crop`. max_frames and max_bytes are for the whole batch,
        timeout and max_packets for each clip.

    Returns:
      `DecodedPackets(frames, pts, mask, status)`.

    Raises:
      TypeError: packets is no batch of strings; another argument has a wrong type; a keyword is
        unknown.
      tf.errors.InvalidArgumentError: A string is no compressed clip, or is of another version of
        tf_nvcodec; the clips have different numbers of frames; the options do not fit them.
      tf.errors.DataLossError: A clip is damaged. The message names its place in the batch.
      tf.errors.ResourceExhaustedError: A limit was exceeded, or memory ran out.
    """
    with in_host_memory():
        crop, crops = options.get("crop"), tf.zeros([0, 4], tf.int32)
        flips = tf.zeros([0], tf.bool) if flip is None else tf.convert_to_tensor(flip, tf.bool)
        if crop is not None:
            crop = lengths_from(crop, "crop", "(top, left, height, width)")
            if crop.shape.rank == 2:
                crop, crops = None, crop
    shared = {**options, "crop": crop}
    attributes = op_arguments(size, shared, ClipOptions, ("flip", "on_error"))
    geometry: dict[str, Any] = {name: attributes.pop(name) for name in ("size", "crop")}
    decoded = gpu_call.call(
        loader.ops.video_decode_packets,
        {
            "packets": batch_of_contents(packets, "packets"),
            **geometry,
            "crops": crops,
            "flips": flips,
        },
        {**attributes, "on_error": on_error},
        host_outputs=("pts", "mask"),
    )
    return DecodedPackets(*decoded)
