"""Asks Triton servers what the videos of a folder show, and prints a table.

    python examples/client.py FOLDER --model NAME [--url HOST:PORT ...] [--concurrency N]

The model is one that `tf-nvcodec deploy triton` has written. With several --url, the requests are
shared among these servers. A request that a server does not answer is sent to the next one, so no
video is lost if a server goes away. Exits with 1 if a video has no answer in the end.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton
from tqdm import tqdm

SUFFIXES = {
    ".mp4",
    ".m4v",
    ".mov",
    ".mkv",
    ".webm",
    ".avi",
    ".ts",
    ".h264",
    ".hevc",
    ".ivf",
    ".obu",
}
# What another server, or the same one later, may answer.
TEMPORARY = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED")


class Servers:
    """Servers of the same model."""

    def __init__(self, urls: list[str], model: str, timeout: float, tries: int) -> None:
        self._clients = [triton.InferenceServerClient(url) for url in urls]
        self._turns = itertools.count()
        self._model, self._timeout, self._tries = model, timeout, tries

    def ask(self, path: Path) -> tuple[str, str]:
        """Returns the labels of a video, or what is wrong."""
        try:
            video = path.read_bytes()
        except OSError as error:
            return "", f"cannot be read: {error.strerror}"
        contents = triton.InferInput("contents", [1, 1], "BYTES")
        contents.set_data_from_numpy(np.array([[video]], object))
        first = next(self._turns)
        failed = ""
        for attempt in range(self._tries):
            client = self._clients[(first + attempt) % len(self._clients)]
            try:
                answer = client.infer(self._model, [contents], client_timeout=self._timeout)
                return self._read(answer)
            except triton.InferenceServerException as error:
                failed = f"{error.status()}: {error.message()}"
                if not any(kind in str(error.status()) for kind in TEMPORARY):
                    break
                if attempt >= len(self._clients) - 1:
                    time.sleep(min(2.0**attempt / 4, 5.0))
        return "", failed

    @staticmethod
    def _read(answer: triton.InferResult) -> tuple[str, str]:
        status = answer.as_numpy("status")
        if status is not None and status[0, 0]:
            return "", status[0, 0].decode()
        labels, scores = answer.as_numpy("labels"), answer.as_numpy("scores")
        if labels is None or scores is None:
            outputs = [output.name for output in answer.get_response().outputs]
            return "", f"the model has no labels, only: {', '.join(outputs)}"
        named = zip(labels[0], scores[0])
        return ", ".join(f"{label.decode()} {score:.3f}" for label, score in named), ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--url", action="append", help="default: localhost:8001")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time")
    parser.add_argument("--timeout", type=float, default=60, help="of a request, in seconds")
    parser.add_argument("--tries", type=int, default=5, help="of a request, on all servers")
    args = parser.parse_args()
    videos = sorted(path for path in args.folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not videos:
        print(f"client: {args.folder}: there are no videos", file=sys.stderr)
        return 1
    servers = Servers(args.url or ["localhost:8001"], args.model, args.timeout, args.tries)
    with ThreadPoolExecutor(args.concurrency) as pool:
        asked = pool.map(servers.ask, videos)
        answers = list(tqdm(asked, total=len(videos), unit="video", disable=None))
    width = max(len(str(video.relative_to(args.folder))) for video in videos)
    for video, (labels, failed) in zip(videos, answers):
        print(f"{video.relative_to(args.folder)!s:{width}}  {labels or f'FAILED {failed}'}")
    return int(any(failed for _, failed in answers))


if __name__ == "__main__":
    sys.exit(main())
