"""Decodes while the GPU has no memory for NVDEC's surfaces, and again when it has some.

python tests/gpu/no_memory.py      # prints the error, then "as FFmpeg's"
"""

from __future__ import annotations

import contextlib

import numpy as np
import tensorflow as tf
from cuda_arrays import CudaArray, free_memory
from gpu_checks import GPU, on_cpu, on_gpu
from gpu_clips import data

import tf_nvcodec as nvc

LEAST = 1 << 20


def all_memory() -> list[CudaArray]:
    """Takes so much memory that the rest is too little for a session."""
    taken = []
    with contextlib.suppress(AssertionError):  # The driver does not give away its last memory.
        while (free := free_memory()) > LEAST:
            taken.append(CudaArray((free // 2,), "uint8", None))
    assert free_memory() <= 4 * LEAST
    return taken


def large_clip() -> bytes:
    """A video whose session needs far more memory than the pool can give back."""
    frames = np.zeros((2, 1080, 1920, 3), np.uint8)
    return bytes(nvc.encode_video(frames, 25, codec="h264", preset="ultrafast").numpy())


def main() -> None:
    clip = large_clip()
    # The first decode asks for NVDEC's capabilities, which takes memory too.
    on_gpu(data("h264.mp4"), stop=1)
    with tf.device(GPU):
        # TensorFlow keeps this memory for the frames, so that only the decoder fails.
        assert float(tf.reduce_sum(tf.zeros(64 << 20, tf.uint8))) == 0
    taken = all_memory()
    try:
        on_gpu(clip, pixel_format="native")
    except tf.errors.ResourceExhaustedError as error:
        print(error.message.replace("\n", " "), flush=True)
    else:
        raise AssertionError("no error")
    taken.clear()
    got = on_gpu(clip, pixel_format="native").frames.numpy()
    np.testing.assert_array_equal(got, on_cpu(clip, pixel_format="native").frames)
    print("as FFmpeg's")


if __name__ == "__main__":
    main()
