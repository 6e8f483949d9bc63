"""tensorflow-io's decode_video, which decodes whole clips only, so every request decodes all.

Its wheel is built for one TensorFlow, so it has an environment of its own. Its bindings need FFmpeg
4's libraries, which harness/setup_peers.py takes from an old OpenCV wheel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from benchmarks.peers.tf_data import TfDataClips


class TensorFlowIO(TfDataClips):
    name = "tensorflow-io"
    environment = "tfio"
    variables: ClassVar[dict[str, str]] = {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }

    def load(self) -> None:
        import tensorflow as tf
        import tensorflow_io as tfio

        # The FFmpeg bindings load on first use and need FFmpeg 4's libraries.
        try:
            tfio.experimental.ffmpeg.decode_video(b"")
        except NotImplementedError as error:
            raise ImportError(f"needs FFmpeg 4's libraries: {error}") from error
        except tf.errors.OpError:
            pass  # the bindings have loaded: they refuse an empty clip
        self._tf, self._tfio = tf, tfio
        self._inputs: dict[str, Any] = {}

    def version(self) -> str:
        return f"{self._tfio.__version__}, TensorFlow {self._tf.__version__}"

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        super().prepare(operation, arguments)
        names = {arguments["path"], *(name for name, _ in arguments.get("clips", ()))}
        for path in names - set(self._inputs):
            self._inputs[path] = self._tf.io.read_file(path)

    def _decode(self, path: str) -> Any:
        return self._tfio.experimental.ffmpeg.decode_video(self._inputs[path])

    def decode_full(self, path: str) -> Any:
        return self._decode(path).numpy()

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        return self._tf.gather(self._decode(path), list(indices)).numpy()

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        return self._decode(path)[start : start + count].numpy()

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        tf = self._tf
        resized = tf.image.resize(self._decode(path)[start : start + count], (height, width))
        return tf.cast(resized + 0.5, tf.uint8).numpy()

    def first_frame(self, path: str) -> Any:
        return self._decode(path)[0].numpy()
