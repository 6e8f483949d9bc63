"""Measures which part of a first frame's time NVDEC's engine takes, for several key frames.

    python -m benchmarks.gpu.nvdec_first_frame [--clips FOLDER] [--rounds 15]

The clips are the same film at several qualities, so that the sizes of the key frames differ, and
the longer clips of nvdec_decode. These are medians over the rounds, with a warm session pool:

    key_bytes   the size of the first key frame
    call_ms     the whole call, from bytes in memory to the RGB frame in the GPU's memory, with the
                index
    engine_ms   the time in which an open decoder decodes that one packet until its picture is
                mapped, so that only the engine works
    rest_ms     the difference: everything else in the call
    open_ms     the time in which SimpleDecoder of tf_nvcodec.compat opens a file by its name and
                returns the first frame, NV12 in the GPU's memory

It needs a GPU with NVDEC. On machines without ffmpeg, --clips names a folder with
h264_1080p_crf17.mp4, h264_1080p.mp4 and so on. --backend cpu runs everything with FFmpeg's decoder,
to try the script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.nvdec_decode import RESULTS, gpu
from benchmarks.harness import clips, machine

COLUMNS = ("clip", "key_bytes", "call_ms", "engine_ms", "rest_ms", "open_ms")


def names() -> list[str]:
    rates = clips.FIRST_FRAME_RATES
    several = [f"{codec}_1080p_crf{rate}" for codec in rates for rate in rates[codec]]
    return several + [f"{codec}_1080p" for codec in rates]


def median_ms(call: Callable[[], Any], rounds: int) -> float:
    """Returns the median of these calls in ms, after one that warms up."""
    call()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return 1e3 * statistics.median(taken)


def waiter() -> Callable[[Any], None]:
    """Returns a function that waits until a tensor's samples are there."""
    import tensorflow as tf

    last = tf.function(lambda tensor: tf.reshape(tensor, [-1])[-1])
    return lambda tensor: last(tensor).numpy()


def whole_call(contents: bytes, backend: str) -> Callable[[], None]:
    """Returns a function that decodes the first frame of a file in memory and waits for it."""
    import tensorflow as tf
    import tf_nvcodec as nvc

    device = "/CPU:0" if backend == "cpu" else "/GPU:0"
    wait = waiter()

    def call() -> None:
        with tf.device(device):
            wait(nvc.decode_frames_at(contents, [0], backend=backend).frames)

    return call


def opened(path: Path, backend: str) -> Callable[[], None]:
    """Returns a function that opens a file by its name and decodes its first frame."""
    import tensorflow as tf
    import tf_nvcodec.compat as nv

    wait = waiter()

    def call() -> None:
        decoder = nv.SimpleDecoder(str(path), use_device_memory=backend != "cpu", backend=backend)
        wait(tf.experimental.dlpack.from_dlpack(decoder[0].__dlpack__()))

    return call


class KeyFrame:
    """A clip's first packet and an open decoder for it."""

    def __init__(self, path: Path, backend: str) -> None:
        import tf_nvcodec.compat as nv

        demuxer = nv.CreateDemuxer(str(path))
        self.packet = next(iter(demuxer))
        if not self.packet.key:
            raise ValueError(f"{path.name} does not begin with a key frame")
        self._end = nv.PacketData()
        self._decoder = nv.CreateDecoder(
            codec=demuxer.GetNvCodecId(),
            usedevicememory=backend != "cpu",
            latency=nv.DisplayDecodeLatencyType.LOW,
            backend=backend,
        )

    def decode(self) -> None:
        """Decodes the packet until its picture is there.

        The end of the stream makes the decoder show the picture, although B-frames might come
        first.
        """
        shown = len(self._decoder.Decode(self.packet)) + len(self._decoder.Decode(self._end))
        if shown != 1:
            raise ValueError(f"a key frame gave {shown} pictures")


def row(name: str, path: Path, backend: str, rounds: int) -> dict[str, Any]:
    key = KeyFrame(path, backend)
    engine = median_ms(key.decode, rounds)
    call = median_ms(whole_call(path.read_bytes(), backend), rounds)
    return {
        "clip": name,
        "key_bytes": key.packet.bsl,
        "call_ms": call,
        "engine_ms": engine,
        "rest_ms": call - engine,
        "open_ms": median_ms(opened(path, backend), rounds),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the rows as Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    for each in rows:
        cells = [each["clip"], f"{each['key_bytes']:,}"]
        cells += [f"{each[column]:.2f}" for column in COLUMNS[2:]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(path: Path, rows: Sequence[dict[str, Any]], rounds: int) -> None:
    document = {
        "name": "nvdec_first_frame",
        "note": f"One run; medians of {rounds}.",
        "machine": {**machine.describe(), "gpu": gpu()},
        "rows": list(rows),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=Path, help="folder of the clips")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--backend", choices=("nvdec", "cpu"), default="nvdec")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    rows = []
    for name in names():
        path = options.clips / f"{name}.mp4" if options.clips else clips.path(name)
        rows.append(row(name, path, options.backend, options.rounds))
        write(options.results / "nvdec_first_frame.json", rows, options.rounds)
    print(table(rows))


if __name__ == "__main__":
    main()
