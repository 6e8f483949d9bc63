"""Decodes video inside a SavedModel, which takes the bytes that a server receives.

    python examples/saved_model.py VIDEO MODEL_FOLDER

It saves a model whose signature decodes eight frames and returns their mean colours. Then it loads
the model in a fresh process and calls it. A process that loads such a model needs
`import tf_nvcodec`.
"""

from __future__ import annotations

import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tf_nvcodec as nvc

SERVE = """
import sys
import tensorflow as tf
import tf_nvcodec
model = tf.saved_model.load(sys.argv[2])
answer = model.signatures["serving_default"](contents=tf.io.read_file(sys.argv[1]))
for time, color in zip(answer["seconds"].numpy(), answer["mean_color"].numpy()):
    print(f"{time:8.3f} s  mean RGB", " ".join(f"{channel:.3f}" for channel in color))
"""


class MeanColor(tf.Module):
    """Computes the mean colours, in [0, 1], of eight frames spread over a video."""

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="contents")])
    def __call__(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
        count = tf.cast(nvc.probe(contents).num_frames, tf.int64)
        indices = tf.range(8, dtype=tf.int64) * count // 8
        video = nvc.decode_frames_at(contents, indices, size=(112, 112), dtype=tf.float32)
        return {"mean_color": tf.reduce_mean(video.frames, axis=[1, 2]), "seconds": video.pts}


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    video, folder = sys.argv[1:]
    model = MeanColor()
    tf.saved_model.save(model, folder, signatures={"serving_default": model.__call__})
    return subprocess.run([sys.executable, "-c", SERVE, video, folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
