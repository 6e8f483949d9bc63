"""Trains on clips cut from videos in a tf.data pipeline.

    python examples/train.py VIDEO... [--steps N]

Each example is 8 frames from a random place of a video, in order or reversed. A small network
learns to tell which. Decoding runs in Dataset.map, in parallel with training.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tf_nvcodec as nvc

FRAMES, STRIDE, SIDE = 8, 2, 64


def random_clip(contents: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a float clip [FRAMES, SIDE, SIDE, 3], and whether it is reversed."""
    span = (FRAMES - 1) * STRIDE + 1
    last = tf.cast(nvc.probe(contents).num_frames, tf.int64) - span
    start = tf.random.uniform([], 0, last + 1, tf.int64)
    clip = nvc.decode_video(
        contents,
        start,
        start + span,
        STRIDE,
        size=(SIDE, SIDE),
        dtype=tf.float32,
        mean=[0.485, 0.456, 0.406],
        std=[0.229, 0.224, 0.225],
    ).frames
    reverse = tf.random.uniform([]) < 0.5
    clip = tf.cond(reverse, lambda: tf.reverse(clip, [0]), lambda: clip)
    return tf.ensure_shape(clip, [FRAMES, SIDE, SIDE, 3]), tf.cast(reverse, tf.float32)


def clips(paths: list[str], batch_size: int) -> tf.data.Dataset:
    """Returns an endless dataset of batches of random clips."""
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .map(tf.io.read_file)
        .cache()
        .repeat()
        .shuffle(64)
        .map(random_clip, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch_size, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def network() -> tf.keras.Model:
    """Builds a network of a few 3-D convolutions and one logit."""
    return tf.keras.Sequential(
        [
            tf.keras.Input([FRAMES, SIDE, SIDE, 3]),
            tf.keras.layers.Conv3D(8, 3, strides=(1, 2, 2), activation="relu"),
            tf.keras.layers.Conv3D(16, 3, strides=(1, 2, 2), activation="relu"),
            tf.keras.layers.GlobalAveragePooling3D(),
            tf.keras.layers.Dense(1),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("videos", nargs="+", metavar="VIDEO")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=4)
    args = parser.parse_args()

    model = network()
    model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
    history = model.fit(
        clips(args.videos, args.batch_size), steps_per_epoch=args.steps, epochs=1, verbose=2
    )
    print(f"loss {history.history['loss'][-1]:.4f} after {args.steps} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
