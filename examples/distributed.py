"""Reads a VideoDataset through tf.data service with two workers, then again while one is killed.

    python examples/distributed.py [VIDEO...]

It starts a dispatcher and two workers as processes of this machine; on a cluster each runs on a
machine of its own. Without VIDEOs it cuts some from the project's clip. It exits with 0 if both
epochs had every clip exactly once.

With dynamic sharding, the dispatcher gives each clip to one worker only, whichever asks first. No
clip comes twice, but the clips that a worker holds when it dies are lost. So the reader notes which
clips came (`every_clip`) and reads the others again. A worker that died has to start again at its
old address, because TensorFlow's client waits for it at the end of the epoch. Here
`Worker.keep_alive` starts it; on a cluster Kubernetes or systemd does.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tf_nvcodec as nvc

ROOT = Path(__file__).resolve().parent.parent
CLIP = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"
CLIPS_PER_VIDEO = 12


def every_clip(clips: nvc.VideoDataset, service: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the clips of one epoch, each exactly once, even if workers die meanwhile.

    Each comes with the number of the reading in which it came.
    """
    total = int(clips.cardinality())
    distribute = tf.data.experimental.service.distribute(
        tf.data.experimental.service.ShardingPolicy.DYNAMIC, service
    )
    left = set(range(total))
    todo: tf.data.Dataset = clips
    reading = 0
    while left:
        reading += 1
        before = len(left)
        for element in todo.map(with_worker).apply(distribute).as_numpy_iterator():
            left.remove(int(element["video_index"]) * CLIPS_PER_VIDEO + int(element["clip_index"]))
            yield reading, element
        if len(left) == before:
            raise RuntimeError(f"no worker reads the clips {sorted(left)}")
        # If there are as many shards as clips, shard n is clip n, and only this clip is decoded.
        numbers = tf.data.Dataset.from_tensor_slices(tf.constant(sorted(left), tf.int64))
        todo = numbers.flat_map(lambda number: clips.shard(total, number))


def with_worker(element: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Adds the number of the process that decoded the clip, to show which worker did it."""
    return {**element, "worker": tf.strings.split(tf.io.read_file("/proc/self/stat"))[0]}


class Server:
    """A process of `python -m tf_nvcodec.dispatcher` or `.worker`."""

    def __init__(self, module: str, *options: str) -> None:
        self.command = [sys.executable, "-m", f"tf_nvcodec.{module}", *options]
        # In this folder, -m finds the same package that this process uses.
        home = Path(nvc.__file__).resolve().parents[1]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, cwd=home)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(f"{module} did not start: its error is above")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Worker:
    """A worker that is started again, at the same address, when it dies."""

    def __init__(self, dispatcher: str) -> None:
        self.options = ["--dispatcher", dispatcher, "--heartbeat", "0.2"]
        self.server = Server("worker", *self.options)
        self.options += ["--port", self.server.address.rpartition(":")[2]]
        self.wanted = True
        self.keeper = threading.Thread(target=self.keep_alive)
        self.keeper.start()

    def keep_alive(self) -> None:
        while self.server.process.wait() is not None and self.wanted:
            with contextlib.suppress(RuntimeError):  # it failed to start, so try again
                self.server = Server("worker", *self.options)

    def stop(self) -> None:
        self.wanted = False
        while self.keeper.is_alive():  # it may be starting another server
            self.server.stop()
            self.keeper.join(0.2)
        self.server.stop()


@contextlib.contextmanager
def cluster() -> Iterator[tuple[str, list[Worker]]]:
    """Starts a dispatcher and two workers; yields the dispatcher's address and the workers."""
    with contextlib.ExitStack() as stack:
        dispatcher = Server("dispatcher", "--port", "0")
        stack.callback(dispatcher.stop)
        workers = []
        for _ in range(2):
            workers.append(Worker(dispatcher.address))
            stack.callback(workers[-1].stop)
        yield dispatcher.address, workers


def cut_videos(folder: Path) -> list[str]:
    """Makes eight small videos of 104 to 132 frames."""
    frames = nvc.decode_video(CLIP.read_bytes(), size=(180, 320)).frames
    paths = [str(folder / f"part{i}.mp4") for i in range(8)]
    for i, path in enumerate(paths):
        video = nvc.encode_video(frames[4 * i :], fps=24, codec="h264", preset="ultrafast")
        tf.io.write_file(path, video)
    return paths


def show_epoch(clips: nvc.VideoDataset, service: str, disturb: Callable[[int], None]) -> bool:
    """Reads an epoch, and calls `disturb` with the number of clips so far.

    Returns whether every clip came exactly once.
    """
    came: collections.Counter[tuple[int, int]] = collections.Counter()
    by: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    began = time.monotonic()
    for reading, element in every_clip(clips, service):
        came[int(element["video_index"]), int(element["clip_index"])] += 1
        by[reading][element["worker"].decode()] += 1
        disturb(sum(came.values()))
    total = left = int(clips.cardinality())
    for reading, workers in by.items():
        shares = ", ".join(f"{n} from process {process}" for process, n in sorted(workers.items()))
        left -= sum(workers.values())
        print(
            f"  reading {reading} {sum(workers.values())} clips: {shares}; {left} lost on the way"
        )
    doubled = sum(count > 1 for count in came.values())
    print(
        f"  result    {len(came)} of {total} clips, {total - len(came)} missing, {doubled} doubled,"
        f" {time.monotonic() - began:.1f} s"
    )
    return len(came) == total and not doubled


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("videos", nargs="*", metavar="VIDEO")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, cluster() as (service, workers):
        videos = [os.path.abspath(name) for name in args.videos] or cut_videos(Path(folder))
        clips = nvc.VideoDataset(
            videos, 16, size=(112, 112), clips_per_video=CLIPS_PER_VIDEO, shuffle=True
        )
        total = int(clips.cardinality())
        print(f"videos      {len(videos)}, with {CLIPS_PER_VIDEO} clips each")
        print(f"dispatcher  {service}")
        for worker in workers:
            print(f"worker      {worker.server.address}, process {worker.server.process.pid}")

        print("undisturbed")
        good = show_epoch(clips, service, lambda came: None)

        def kill_one(came: int) -> None:
            if came == total // 3:
                process = workers[0].server.process
                process.kill()
                print(f"  killed    process {process.pid}, after {came} clips", flush=True)

        print("with a worker killed (SIGKILL) and started again")
        good = show_epoch(clips, service, kill_one) and good
    print("every clip came exactly once, twice" if good else "NOT every clip came exactly once")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
