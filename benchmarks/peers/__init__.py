"""The measured libraries. Each module defines one or more Peer classes."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.peers.base import Peer

OURS = "tf_nvcodec"


def is_ours(name: str) -> bool:
    """Whether a peer is this package, in its plain form or in another ("tf_nvcodec ...")."""
    return name.partition(" ")[0] == OURS


def _named(cls: type[Peer]) -> list[type[Peer]]:
    found = [cls] if cls.name else []
    for child in cls.__subclasses__():
        found += _named(child)
    return found


def every() -> dict[str, type[Peer]]:
    """Returns all peers by name, tf_nvcodec first. It imports no library."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    classes = {cls.name: cls for cls in _named(Peer)}
    return dict(sorted(classes.items(), key=lambda item: (item[0] != OURS, item[0])))
