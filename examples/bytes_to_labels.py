"""Trains a network on clips, exports it together with the decoder, and names what videos show.

    python examples/bytes_to_labels.py FOLDER [--steps N]

The videos show a square that moves over a noisy background and is red, green or blue. The example
makes them, trains a small network of 3-D convolutions with a VideoDataset, and exports a SavedModel
that takes the bytes of videos and returns labels. Then a fresh process, which stands for a server,
loads this model and names videos that the network has not seen.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

import tf_nvcodec as nvc

LABELS = ["red", "green", "blue"]
FRAMES, SIDE, SQUARE = 8, 48, 16

SERVE = """
import sys
import tensorflow as tf
import tf_nvcodec

model = tf.saved_model.load(sys.argv[1])
contents = tf.stack([tf.io.read_file(path) for path in sys.argv[2:]])
answer = model.signatures["serving_default"](contents=contents)
for path, labels, status in zip(sys.argv[2:], answer["labels"].numpy(), answer["status"].numpy()):
    print(path.rsplit("/", 1)[-1], labels[0].decode() or status.decode())
"""


def moving_square(label: int, random: np.random.Generator) -> np.ndarray:
    """Returns frames [24, SIDE, SIDE, 3] of noise with a moving square of a label's colour."""
    frames = random.integers(0, 120, (24, SIDE, SIDE, 3), np.uint8)
    place, step = random.integers(0, SIDE, 2), random.integers(-3, 4, 2)
    for frame in frames:
        place = (place + step) % SIDE
        rows, columns = ((start + np.arange(SQUARE)) % SIDE for start in place)
        frame[np.ix_(rows, columns, [label])] = 250
    return frames


def make_videos(folder: Path, count: int, seed: int) -> tuple[list[str], list[int]]:
    """Encodes `count` videos of each label. Returns their names and labels."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    names, labels = [], []
    for number in range(count):
        for label, word in enumerate(LABELS):
            path = folder / f"{word}_{number}.mp4"
            video = nvc.encode_video(moving_square(label, random), fps=24)
            path.write_bytes(video.numpy())
            names.append(str(path))
            labels.append(label)
    return names, labels


def train(names: list[str], labels: list[int], steps: int) -> tf.keras.Model:
    """Trains on random clips of the videos."""
    network = tf.keras.Sequential(
        [
            tf.keras.Input([FRAMES, SIDE, SIDE, 3]),
            tf.keras.layers.Conv3D(8, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalMaxPooling3D(),
            tf.keras.layers.Dense(len(LABELS), activation="softmax"),
        ]
    )
    network.compile(
        tf.keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    clips = nvc.VideoDataset(
        names,
        clip_length=FRAMES,
        clips_per_video=1,
        sampling="random",
        labels=labels,
        shuffle=True,
        size=(SIDE, SIDE),
        dtype=tf.float32,
    )
    batches = clips.for_fit().batch(16).repeat()
    history = network.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0).history
    print(f"accuracy {history['accuracy'][-1]:.2f} over {steps} steps of training")
    return network


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(1)

    names, labels = make_videos(args.folder / "train", 16, seed=1)
    network = train(names, labels, args.steps)
    unseen, _ = make_videos(args.folder / "unseen", 2, seed=2)
    model = nvc.export_video_model(
        network,
        args.folder / "model",
        clips_per_video=3,
        labels=LABELS,
        top_k=1,
        check=[Path(unseen[0]).read_bytes()],
        overwrite=True,
    )
    command = [sys.executable, "-c", SERVE, model.folder, *unseen]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
