"""Training input decoded by NVDEC, in two ways.

    python examples/nvdec.py VIDEO... [--steps N] [--backend nvdec|auto|cpu]

1. VideoDataset decodes in tf.data; clips arrive in host memory.
2. tf.data carries the files' bytes, and the training step decodes them on the GPU it runs on.

Both train the same small network to tell clips from reversed ones, and print the clips per second.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tf_nvcodec as nvc

FRAMES, SIDE, BATCH = 8, 112, 4


def network() -> tf.keras.Model:
    return tf.keras.Sequential(
        [
            tf.keras.Input([FRAMES, SIDE, SIDE, 3]),
            tf.keras.layers.Conv3D(8, 3, strides=(1, 2, 2), activation="relu"),
            tf.keras.layers.Conv3D(16, 3, strides=(1, 2, 2), activation="relu"),
            tf.keras.layers.GlobalAveragePooling3D(),
            tf.keras.layers.Dense(1),
        ]
    )


def reversed_or_not(frames: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Reverses some clips of a batch [B, T, H, W, C]; also returns which."""
    turned = tf.random.uniform([BATCH]) < 0.5
    which = tf.reshape(turned, [BATCH, 1, 1, 1, 1])
    return tf.where(which, tf.reverse(frames, [1]), frames), tf.cast(turned, tf.float32)


def clips_of_the_dataset(paths: list[str], backend: str) -> tf.data.Dataset:
    """Returns batches of clips, copied to the GPU while the batch before is in use."""
    clips = nvc.VideoDataset(
        paths,
        clip_length=FRAMES,
        size=(SIDE, SIDE),
        clips_per_video=1,
        sampling="random",
        shuffle=True,
        dtype=tf.float32,
        backend=backend,
    )
    frames = clips.map(lambda clip: clip["frames"])
    return frames.repeat().batch(BATCH, drop_remainder=True).prefetch(2)


def bytes_of_the_files(paths: list[str]) -> tf.data.Dataset:
    files = tf.data.Dataset.from_tensor_slices(paths).map(tf.io.read_file).cache()
    return files.repeat().shuffle(64).batch(BATCH, drop_remainder=True).prefetch(2)


def decode_on_gpu(contents: tf.Tensor, backend: str) -> tf.Tensor:
    """Decodes [B] files to [B, T, H, W, C] on the device of the calling step."""

    def clip(one: tf.Tensor) -> tf.Tensor:
        last = tf.cast(nvc.probe(one).num_frames, tf.int64) - FRAMES
        start = tf.random.uniform([], 0, last + 1, tf.int64)
        video = nvc.decode_video(
            one, start, start + FRAMES, size=(SIDE, SIDE), dtype=tf.float32, backend=backend
        )
        return tf.ensure_shape(video.frames, [FRAMES, SIDE, SIDE, 3])

    shape = tf.TensorSpec([FRAMES, SIDE, SIDE, 3], tf.float32)
    return tf.map_fn(clip, contents, fn_output_signature=shape, parallel_iterations=BATCH)


def train(
    batches: Iterable[tf.Tensor], frames_of: Callable[[tf.Tensor], tf.Tensor], steps: int
) -> tuple[float, float]:
    """Returns the clips per second, without the first step, and the last loss."""
    model, optimizer = network(), tf.keras.optimizers.Adam()
    loss_of = tf.keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def step(batch: tf.Tensor) -> tf.Tensor:
        frames, turned = reversed_or_not(frames_of(batch))
        with tf.GradientTape() as tape:
            loss = loss_of(turned[:, None], model(frames, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    loss, began = 0.0, time.perf_counter()
    for number, batch in zip(range(steps + 1), batches):
        loss = float(step(batch))
        if number == 0:  # the first step traces, compiles and opens decoders
            began = time.perf_counter()
    return steps * BATCH / (time.perf_counter() - began), loss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("videos", nargs="+", metavar="VIDEO")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--backend", choices=("nvdec", "auto", "cpu"), default="auto")
    args = parser.parse_args()

    for gpu in tf.config.list_physical_devices("GPU"):
        # Decoders need GPU memory outside TensorFlow's pool. Without this, TensorFlow takes nearly
        # all memory.
        tf.config.experimental.set_memory_growth(gpu, True)
    available, reason = nvc.is_available("nvdec", reason=True)
    print(f"NVDEC      {reason}" if available else f"no NVDEC   {reason}")
    print(f"backend    {args.backend}")
    rate, loss = train(
        clips_of_the_dataset(args.videos, args.backend), lambda frames: frames, args.steps
    )
    print(f"tf.data decodes     {rate:8.1f} clips/s, loss {loss:.4f}")
    rate, loss = train(
        bytes_of_the_files(args.videos), lambda c: decode_on_gpu(c, args.backend), args.steps
    )
    print(f"the step decodes    {rate:8.1f} clips/s, loss {loss:.4f}")
    pool = nvc.decoder_pool()
    print(f"decoder sessions    {pool.created} created, {pool.reused} reused, {pool.failed} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
