"""Links TensorRT's libraries under the names and in the folder where TensorFlow looks for them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from converters.environment.libraries import TensorRT, library_names
from converters.util.errors import UnavailableError


class MadeLink(NamedTuple):
    """`before` is where a link in its place led to, None where there was none."""

    path: Path
    before: str | None


def make_links(found: TensorRT, linked: str, folders: Iterable[Path]) -> list[MadeLink]:
    """Links `found` into the first of `folders` that can be written, for a TensorFlow linked with
    the version `linked`; returns the links that were made, none if all were there.

    The libraries find one another beside themselves, so all of TensorRT's are linked, by their
    own names too. A link of an earlier run is replaced, a real file is not.

    Raises:
      UnavailableError: no folder can be written, or a real file is in the way.
    """
    wanted = dict(zip(library_names(linked), (found.library, found.plugin)))
    targets = {name: path for name, path in wanted.items() if path is not None}
    for path in sorted(found.folder.glob("libnvinfer*.so.*")):
        targets.setdefault(path.name, path)
    tried = list(folders)
    folder = next((f for f in tried if os.access(f, os.W_OK | os.X_OK)), None)
    if folder is None:
        names = ", ".join(map(str, tried)) or "none"
        raise UnavailableError(
            f"no folder that TensorFlow searches can be written (they are: {names}): run this as "
            f"their owner, or link {' and '.join(wanted)} in a folder of your own and name that in "
            "LD_LIBRARY_PATH"
        )
    made = (_link(folder / name, path.absolute()) for name, path in targets.items())
    return [link for link in made if link is not None]


def _link(link: Path, target: Path) -> MadeLink | None:
    """The link that was made; None where one leads to the same file already."""
    if link.exists() and link.samefile(target):
        return None
    if link.exists() and not link.is_symlink():
        raise UnavailableError(
            f"{link} is a file of another TensorRT than {target}: remove the one that you do not "
            "want and run this again"
        )
    # Relative within one site-packages, which may be moved.
    text = str(target)
    if link.parent.parent == target.parent.parent:
        text = os.path.relpath(target, link.parent)
    new = link.with_name(f".{link.name}.{secrets.token_hex(3)}")
    before = os.readlink(link) if link.is_symlink() else None
    new.symlink_to(text)
    os.replace(new, link)
    return MadeLink(link, before)
