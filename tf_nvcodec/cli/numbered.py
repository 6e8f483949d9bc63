"""File names with a place for a number, such as frame_%06d.png."""

from __future__ import annotations

import os
import re

from tf_nvcodec.cli.errors import UsageError

# "%%" is a percent sign. A percent sign that begins neither of these stands for itself.
_PLACE = re.compile(r"%%|%0?\d{0,2}d")


def is_numbered(path: str) -> bool:
    """Whether the last part of `path` has a place for a number."""
    return any(place != "%%" for place in _PLACE.findall(os.path.basename(path)))


def pattern(path: str) -> re.Pattern[str]:
    """Returns a regular expression for the last part of `path`, with a group for each number."""
    name, end, parts = os.path.basename(path), 0, []
    for place in _PLACE.finditer(name):
        parts.append(re.escape(name[end : place.start()]))
        number = r"( *\d+)" if place[0][1] in "123456789" else r"(\d+)"  # "%2d" pads with spaces
        parts.append("%" if place[0] == "%%" else number)
        end = place.end()
    return re.compile("".join(parts) + re.escape(name[end:]), re.ASCII)


class NumberedFiles:
    """The files of a `path` that has one place for a number."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = os.path.dirname(path) or "."
        self._name = os.path.basename(path)
        places = [place for place in _PLACE.findall(self._name) if place != "%%"]
        if len(places) != 1:
            raise UsageError(path, f"has {len(places)} places for a number", "keep one, as in %06d")

    def name(self, number: int) -> str:
        """The last part of the path of file `number`."""
        return _PLACE.sub(lambda p: "%" if p[0] == "%%" else p[0] % number, self._name)

    def among(self, names: list[str]) -> list[str]:
        """Returns those of the names in the folder that belong to this sequence, sorted."""
        found = ((name, pattern(self.path).fullmatch(name)) for name in names)
        return sorted(name for name, match in found if match and self.name(int(match[1])) == name)
