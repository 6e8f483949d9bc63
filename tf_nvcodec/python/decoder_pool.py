"""What the pools of NVDEC decoders did so far."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from tf_nvcodec.python import loader


class DecoderPoolStatistics(NamedTuple):
    """Counters of the decoder sessions of all GPUs, in this process.

    Attributes:
      created: Sessions opened.
      reused: Streams, or parts of one decoded side by side, that got a session from the pool.
      reconfigured: Of these, sessions that were brought to another picture size first.
      destroyed: Sessions closed, for whatever reason.
      failed: Of these, after an error: such a session is never used again.
      idle: Sessions in the pool at this moment.
      in_use: Sessions that decode at this moment.
      decoded_again: Parts of streams in which NVDEC found damage, or what it can't take, so that
        FFmpeg decoded them again on the CPU: what is damaged, and what stands in for it, is as
        with backend="cpu".
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
    """Statistics of the pools from which backend="nvdec" and "auto" take their decoders.

    Does not open the NVIDIA driver: without a GPU, or before its first use, all are 0.
    """
    with tf.init_scope(), tf.device("CPU:0"):
        counters = loader.ops.nvc_decoder_pool()
    return DecoderPoolStatistics(*(int(n) for n in counters.numpy()))
