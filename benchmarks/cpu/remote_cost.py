"""Measures how many requests and bytes clips of videos on a server cost.

    python -m benchmarks.cpu.remote_cost

A web server on localhost counts them. The clips have 16 frames and lie anywhere in a 1080p film,
whose index is known. The target is at most 1.3 times the bytes of the GOPs that a clip lies in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import clips, machine

RESULTS = clips.RESULTS / "remote_cost.json"
FRAMES, CLIPS, MOST = 16, 40, 1.3

sys.path.append(str(clips.ROOT / "tests" / "support"))


def gop_places(path: Path) -> list[int]:
    """Returns where the GOPs begin in the file, and where the last one ends."""
    ask = ["ffprobe", "-v", "error", "-of", "json", "-select_streams", "v", "-show_packets", path]
    packets = json.loads(subprocess.run(ask, check=True, capture_output=True).stdout)["packets"]
    places = [int(packet["pos"]) for packet in packets if "K" in packet["flags"]]
    return places + [max(int(packet["pos"]) + int(packet["size"]) for packet in packets)]


def measure(server: Any, name: str, folder: str) -> dict[str, float]:
    import numpy as np
    import tf_nvcodec as nvc

    path = Path(clips.path(name))
    places = gop_places(path)
    address = server.put(f"/{name}.mp4", path.read_bytes())

    def cost(**arguments: Any) -> tuple[int, int, int]:
        """Returns the clips, requests and bytes of a pass."""
        server.requests.clear()
        made = nvc.VideoDataset([address], FRAMES, size=(64, 64), index_cache=folder, **arguments)
        count = sum(1 for _ in made)
        return count, len(server.requests), sum(request.sent for request in server.requests)

    nvc.index_videos([address], index_cache=folder)
    index = len(server.requests), sum(request.sent for request in server.requests)
    requests = read = needed = 0
    shares = []
    first_frames = np.random.default_rng(1).integers(0, clips.FULL_FRAMES - FRAMES, CLIPS)
    for first in first_frames.tolist():
        _, one_requests, one_read = cost(clip_at=[(first + 0.5) / 24])
        gops = places[(first + FRAMES - 1) // clips.GOP + 1] - places[first // clips.GOP]
        requests, read, needed = requests + one_requests, read + one_read, needed + gops
        shares.append(one_read / gops)
    in_order = cost()
    return {
        "index, requests": index[0],
        "index, share of the file": index[1] / path.stat().st_size,
        "requests for a random clip": requests / CLIPS,
        "bytes of a random clip, share of its GOPs": read / needed,
        "the same, largest": max(shares),
        "clips in order": in_order[0],
        "their requests": in_order[1],
        "their bytes, share of the file": in_order[2] / path.stat().st_size,
    }


def main() -> None:
    from https_server import HttpsServer

    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        server = HttpsServer(Path(folder))
        os.environ.update(CURL_CA_BUNDLE=str(server.certificate), no_proxy="localhost")
        for name in ("h264_1080p", "hevc_1080p"):
            figures[name] = measure(server, name, folder)
            print(name)
            for what, value in figures[name].items():
                print(f"  {what:42} {value:8.3f}")
        server.close()
    met = all(one["bytes of a random clip, share of its GOPs"] <= MOST for one in figures.values())
    result = {"machine": machine.describe(), "figures": figures, "most": MOST, "met": met}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
