"""The few facts of a shared library that say what it needs and where the loader looks for it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

# From the ELF-64 object file format and the System V ABI.
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME = 0, 1, 5, 10, 14
_DT_RPATH, _DT_RUNPATH = 15, 29


class Library(NamedTuple):
    """The dynamic section of a library, as far as finding libraries goes.

    `search` are the folders of its RUNPATH (or RPATH, where there is no RUNPATH), with $ORIGIN
    replaced by the library's folder.
    """

    path: Path
    soname: str
    needed: tuple[str, ...]
    search: tuple[Path, ...]


def read_library(path: str | os.PathLike[str]) -> Library:
    """Reads a 64-bit little-endian library's header only, however large the file.

    Raises:
      ValueError: it is no such library, or is damaged.
      OSError: it cannot be read.
    """
    found = Path(os.path.abspath(path))
    with open(found, "rb") as file:
        try:
            entries = _dynamic(file)
        except struct.error as error:
            raise ValueError(f"{found} ends in the middle of its ELF headers") from error
    run_path = entries.get(_DT_RUNPATH) or entries.get(_DT_RPATH) or [""]
    return Library(
        path=found,
        soname=entries.get(_DT_SONAME, [""])[0],
        needed=tuple(entries.get(_DT_NEEDED, ())),
        search=tuple(
            Path(
                os.path.normpath(
                    entry.replace("$ORIGIN", str(found.parent)).replace(
                        "${ORIGIN}", str(found.parent)
                    )
                )
            )
            for entry in run_path[0].split(":")
            if entry
        ),
    )


def _dynamic(file: BinaryIO) -> dict[int, list[str]]:
    """The strings of the dynamic section by tag."""
    header = file.read(64)
    if header[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{file.name} is no 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    loads: list[tuple[int, int, int]] = []
    dynamic = b""
    for index in range(count):
        file.seek(table + index * size)
        kind, _, offset, address, _, length = struct.unpack("<IIQQQQ", file.read(40))
        if kind == _PT_LOAD:
            loads.append((address, offset, length))
        elif kind == _PT_DYNAMIC:
            file.seek(offset)
            dynamic = file.read(length)
    pairs = list(struct.iter_unpack("<QQ", dynamic[: len(dynamic) // 16 * 16]))
    numbers = dict(pairs)
    if _DT_STRTAB not in numbers or _DT_STRSZ not in numbers:
        raise ValueError(f"{file.name} has no dynamic section")
    strings = _at_address(file, loads, numbers[_DT_STRTAB], numbers[_DT_STRSZ])
    found: dict[int, list[str]] = {}
    for tag, value in pairs:
        if tag == _DT_NULL:
            break
        if tag in (_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH):
            text = strings[value : strings.find(b"\0", value)]
            found.setdefault(tag, []).append(os.fsdecode(text))
    return found


def _at_address(
    file: BinaryIO, loads: list[tuple[int, int, int]], address: int, size: int
) -> bytes:
    for start, offset, length in loads:
        if start <= address < start + length:
            file.seek(offset + address - start)
            return file.read(size)
    raise ValueError(f"{file.name} has its strings outside of the file")
