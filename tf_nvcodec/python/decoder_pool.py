"""Statistics of the pools of NVDEC decoders."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from tf_nvcodec.python import loader


class DecoderPoolStatistics(NamedTuple):
    """Counters of the decoder sessions of all GPUs, in this process.

    Attributes:
      created: Sessions opened.
      reused: How often a stream, or a part of one decoded side by side, got a session from the
        pool.
      reconfigured: How many of these sessions were first set to another picture size.
      destroyed: Sessions closed, for any reason.
      failed: How many of these were closed after an error. Such a session is never used again.
      idle: Sessions in the pool now.
      in_use: Sessions that decode now.
      decoded_again: Parts of streams in which NVDEC found damage or something that it cannot
        decode. FFmpeg decodes them again on the CPU, so that the damaged frames and their
        replacements are those of backend="cpu".
    """

    created: int
    reused: int
    reconfigured: int
    destroyed: int
    failed: int
    idle: int
    in_use: int
    decoded_again: int


def decoder_pool() -> DecoderPoolStatistics:
    """Returns the statistics of the pools from which backend="nvdec" and "auto" take decoders.

    It does not open the NVIDIA driver. Without a GPU, or before its first use, all numbers are 0.
    """
    with tf.init_scope(), tf.device("CPU:0"):
        counters = loader.ops.nvc_decoder_pool()
    return DecoderPoolStatistics(*(int(n) for n in counters.numpy()))
