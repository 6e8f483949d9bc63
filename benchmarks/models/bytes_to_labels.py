"""Measures models that take the bytes of a video: decoding and a network with TensorRT engines.

    python -m benchmarks.models.bytes_to_labels MODELS --prepare   # converts the networks: minutes
    python -m benchmarks.models.bytes_to_labels MODELS [--clips FOLDER] [--seconds 2] [--rounds 2]

It needs a GPU with NVDEC, TensorRT and the clips of harness/clips.py. On machines without
ffmpeg, --clips names a folder with h264_1080p_6s.mp4 and hevc_1080p_6s.mp4. A request is one video,
6 s of 1080p. The networks have random weights and FP16 engines:

    resnet50    images of 224x224: 16 frames, spread over the video
    r3d18       a clip of 16 frames of 112x112 from the middle, through a 3D ResNet of 18 layers

Callers are threads of one process that make one request after the other. For each network and
codec, these take turns (--batch-requests exports with that option):

    tf_nvcodec       export_video_model's SavedModel
    decoding         the same decoding without the network
    network          the network alone, on frames in GPU memory
    PyNvVideoCodec   its SimpleDecoder, reused for the next file, DLPack, tf.image.resize, the
                     engines. It reads files, not bytes.
    PyAV             FFmpeg on the CPU, every frame up to the last wanted one, swscale, the engines
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.nvdec_batch import FRAMES_OF_A_VIDEO, SPREAD, WANTED
from benchmarks.gpu.nvdec_decode import CODECS, RESULTS, clips_folder, gpu
from benchmarks.harness import machine
from benchmarks.models.callers import figures, measure

CALLERS = (1, 4, 8, 16, 32)
SHARE, SHARE_FROM = 0.95, 8
# One caller's requests/s with ResNet50 and H.264 are to be 2.5 times those of a model made by hand.
ONE_CALLER = 2.5 * 12.7


class Network(NamedTuple):
    side: int
    clip: bool  # a request is one clip, not images
    options: tuple[str, ...]  # of trt-convert


NETWORKS = {
    "resnet50": Network(224, False, ("--shape", "frames:16x224x224x3")),
    # All that --batch-requests 8 may send.
    "r3d18": Network(112, True, ("--range", "frames:1x16x112x112x3..8x16x112x112x3")),
}
Call = Callable[[int], None]


def r3d18() -> Any:
    """A 3D ResNet of 18 layers (Tran et al., "A Closer Look at Spatiotemporal Convolutions for
    Action Recognition", 2018, table 1: R3D)."""
    import tensorflow as tf

    layers = tf.keras.layers

    def convolution(x: Any, filters: int, stride: int, size: int = 3, relu: bool = True) -> Any:
        x = layers.Conv3D(filters, size, stride, "same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        return layers.ReLU()(x) if relu else x

    given = tf.keras.Input([WANTED, 112, 112, 3])
    x = layers.Conv3D(64, (3, 7, 7), (1, 2, 2), "same", use_bias=False)(given)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for index, filters in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if index and not block else 1
            shortcut = x if stride == 1 else convolution(x, filters, stride, 1, relu=False)
            y = convolution(convolution(x, filters, stride), filters, 1, relu=False)
            x = layers.ReLU()(layers.Add()([shortcut, y]))
    return tf.keras.Model(given, layers.Dense(400)(layers.GlobalAveragePooling3D()(x)))


def serving(model: Any, spec: Any) -> Any:
    import tensorflow as tf

    def serve(frames: Any) -> dict[str, Any]:
        return {"scores": model(frames, training=False)}

    return tf.function(serve, input_signature=[spec])


def prepare(folder: Path, only: list[str]) -> None:
    """Writes the networks and their conversions."""
    import tensorflow as tf

    networks = {}
    for name in only:
        model = r3d18() if name == "r3d18" else tf.keras.applications.ResNet50(weights=None)
        network = NETWORKS[name]
        frame = [WANTED] * network.clip + [network.side, network.side, 3]
        networks[name] = (model, frame, list(network.options))
    convert_networks(folder, networks)


def convert_networks(folder: Path, networks: dict[str, tuple[Any, list[int], list[str]]]) -> None:
    """Writes each Keras model and, all at the same time, its conversion to FP16. With a model go
    the shape of a frame or clip and options of trt-convert."""
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    running = []
    for name, (model, frame, options) in networks.items():
        spec = tf.TensorSpec([None, *frame], tf.float32, "frames")
        module = tf.Module()
        module.model, module.serve = model, serving(model, spec)
        tf.saved_model.save(module, str(folder / f"{name}_native"), signatures=module.serve)
        command = [sys.executable, "-m", "converters", "convert", str(folder / f"{name}_native")]
        command += [str(folder / name), "--precision", "fp16", "--overwrite", *options]
        with open(folder / f"{name}.log", "wb") as log:
            environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
            running.append(
                subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
            )
    for name, process in zip(networks, running):
        if process.wait():
            sys.exit(f"{name} was not converted:\n" + (folder / f"{name}.log").read_text()[-3000:])


def export_elsewhere(network: Path, folder: str, options: str = "") -> None:
    """Calls export_video_model in another process: a process can load engines once."""
    code = f"nvc.export_video_model({str(network)!r}, {folder!r}, {options})"
    subprocess.run([sys.executable, "-c", f"import tf_nvcodec as nvc; {code}"], check=True)


class Ways:
    """Calls for one network; each method returns a function of the caller's number."""

    def __init__(self, models: Path, name: str, work: str, batch_requests: int) -> None:
        import tensorflow as tf
        import tf_nvcodec as nvc

        self.tf, self.nvc = tf, nvc
        self.network = NETWORKS[name]
        exported = f"{work}/{name}"
        export_elsewhere(models / name, exported, f"batch_requests={batch_requests}")
        self._model = tf.saved_model.load(exported)
        self._run = self._model.signatures["frames"]
        first = (FRAMES_OF_A_VIDEO - WANTED) // 2
        middle = list(range(first, first + WANTED))
        self._indices = middle if self.network.clip else SPREAD
        self._size = (self.network.side, self.network.side)

    def ours(self, path: Path) -> Call:
        serve, contents = self._model.signatures["serving_default"], path.read_bytes()

        def call(_: int) -> None:
            answer = serve(contents=self.tf.constant([contents]))
            assert not answer["status"].numpy()[0]
            answer["scores"].numpy()

        return call

    def decoding(self, path: Path) -> Call:
        tf, clip = self.tf, self.network.clip
        last = tf.function(lambda frames: tf.reshape(frames, [-1])[-1])
        contents = tf.constant([path.read_bytes()])

        def call(_: int) -> None:
            with tf.device("/GPU:0"):
                decoded = self.nvc.decode_clips(
                    contents,
                    clip_length=WANTED if clip else 1,
                    clips_per_video=1 if clip else WANTED,
                    size=self._size,
                    dtype=tf.float32,
                    on_error="raise",
                )
                last(decoded.frames).numpy()

        return call

    def alone(self, _: Path) -> Call:
        tf = self.tf
        shape = [1, WANTED] if self.network.clip else [WANTED]
        with tf.device("/GPU:0"):
            frames = tf.random.uniform([*shape, *self._size, 3])

        def call(_: int) -> None:
            self._run(frames=frames)["scores"].numpy()

        return call

    def _scores(self, frames: Any) -> None:
        frames = frames[None] if self.network.clip else frames
        self._run(frames=frames)["scores"].numpy()

    def pynv(self, path: Path) -> Call:
        import PyNvVideoCodec

        tf = self.tf
        own = threading.local()
        prepared = tf.function(
            lambda frames: tf.image.resize(frames, self._size) / 255,
            input_signature=[tf.TensorSpec([None, None, None, 3], tf.uint8)],
        )

        def call(_: int) -> None:
            if hasattr(own, "decoder"):
                own.decoder.reconfigure_decoder(str(path))
            else:
                own.decoder = PyNvVideoCodec.SimpleDecoder(
                    str(path),
                    gpu_id=0,
                    use_device_memory=True,
                    output_color_type=PyNvVideoCodec.OutputColorType.RGB,
                )
            frames = own.decoder.get_batch_frames_by_index(self._indices)
            tensors = [tf.experimental.dlpack.from_dlpack(f.__dlpack__(stream=1)) for f in frames]
            with tf.device("/GPU:0"):
                self._scores(prepared(tf.stack(tensors)))

        return call

    def pyav(self, path: Path) -> Call:
        import av
        import numpy as np

        wanted, (height, width) = set(self._indices), self._size

        def call(_: int) -> None:
            found = []
            with av.open(str(path)) as container:
                stream = container.streams.video[0]
                stream.thread_type = "AUTO"
                for index, frame in enumerate(container.decode(stream)):
                    if index in wanted:
                        found.append(frame.to_ndarray(width=width, height=height, format="rgb24"))
                        if len(found) == len(wanted):
                            break
            self._scores(self.tf.constant(np.stack(found), self.tf.float32) / 255)

        return call


def take_turns(
    ways: dict[str, Call], callers: int, seconds: float, rounds: int
) -> dict[str, dict[str, float]]:
    found: dict[str, list[Any]] = {name: [] for name in ways}
    counts = {}
    for name, call in ways.items():
        took, _ = measure(call, callers, callers)  # once for each, to warm up and to know its pace
        took, _ = measure(call, callers, callers)
        counts[name] = callers * max(1, round(seconds / took))
    for turn in range(rounds):
        for name in sorted(ways, reverse=bool(turn % 2)):
            found[name].append(measure(ways[name], callers, counts[name]))
    return {name: figures(some) for name, some in found.items()}


def targets(network: str, codec: str, rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Compares ours with the slower part and with the peers."""
    found = []
    for callers, row in rows.items():
        rate = {name: one["requests_per_s"] for name, one in row.items()}
        ours, parts = rate["tf_nvcodec"], min(rate["decoding"], rate["network"])
        peers = max((rate[n] for n in ("PyNvVideoCodec", "PyAV") if n in rate), default=0)
        where = f"{network}, {codec}, {callers} callers"
        pairs = [(f"{where}: the best peer", ours / peers, 1.0)] if peers else []
        if int(callers) >= SHARE_FROM:
            pairs.append((f"{where}: {SHARE} of the slower part", ours / parts, SHARE))
        if (network, codec, callers) == ("resnet50", "h264", "1"):
            pairs.append((f"{where}: {ONE_CALLER:.1f} requests/s", ours / ONE_CALLER, 1.0))
        found += [{"target": t, "ratio": r, "met": r >= least} for t, r, least in pairs]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.bytes_to_labels")
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--batch-requests", type=int, default=0, metavar="N")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn, about")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    networks = options.networks.split(",")
    if options.prepare:
        prepare(options.models, networks)
        return
    import tensorflow as tf

    for each in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(each, True)
    found: dict[str, Any] = {}
    met: list[dict[str, Any]] = []
    with clips_folder(options.clips, "_6s") as folder, tempfile.TemporaryDirectory() as work:
        for name in networks:
            ways = Ways(options.models, name, work, options.batch_requests)
            for codec in options.codecs.split(","):
                path = folder / f"{codec}_1080p_6s.mp4"
                calls = {"tf_nvcodec": ways.ours(path)}
                calls.update({"decoding": ways.decoding(path), "network": ways.alone(path)})
                for peer, make in (("PyNvVideoCodec", ways.pynv), ("PyAV", ways.pyav)):
                    try:
                        call = make(path)
                        call(0)
                    except Exception as error:  # a peer may fail in any way
                        print(f"{peer} is left out: {error}", file=sys.stderr)
                    else:
                        calls[peer] = call
                rows = found.setdefault(name, {}).setdefault(codec, {})
                for callers in CALLERS:
                    row = take_turns(calls, callers, options.seconds, options.rounds)
                    rows[str(callers)] = row
                    rates = {way: round(one["requests_per_s"], 1) for way, one in row.items()}
                    print(name, codec, callers, json.dumps(rates), flush=True)
                met += targets(name, codec, rows)
                _write(options.results, options.batch_requests, found, met)


def _write(
    results: Path, batch_requests: int, found: dict[str, Any], met: list[dict[str, Any]]
) -> None:
    result = {
        "machine": {**machine.describe(), "gpu": gpu()},
        "frames_of_a_video": FRAMES_OF_A_VIDEO,
        "frames_wanted": WANTED,
        "batch_requests": batch_requests,
        "networks": found,
        "targets": met,
    }
    results.mkdir(parents=True, exist_ok=True)
    (results / "bytes_to_labels.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
