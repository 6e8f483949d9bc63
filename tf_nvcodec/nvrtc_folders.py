"""Where pip put NVIDIA's run-time compiler; TensorFlow's GPU packages bring it along."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def nvrtc_folders() -> list[str]:
    """Folders of NVIDIA's packages that are there, in the order to look into."""
    folders = []
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            spec = importlib.util.find_spec(package)
        except ImportError:
            continue
        for place in (spec and spec.submodule_search_locations) or ():
            folder = Path(place) / "lib"
            if folder.is_dir():
                folders.append(str(folder))
    return folders
