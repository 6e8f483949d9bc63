"""The files of a V2 conversion's engines (trt-serialized-engine.*), and the plans inside them.

An engine file is an uncompressed TFRecord. Each record is a proto3 message with the shapes that the
engine was built for (field 1, repeated TensorShapeProto, in the order of the engine's inputs) and
the TensorRT plan (field 2, bytes). TensorFlow's wheel has no Python class for it, so the few fields
are read from the bytes here. That needs neither TensorFlow nor TensorRT.

A plan is TensorRT's compiled engine. Since TensorRT 8.6 it begins with "ftrt"; the next four bytes
are the version of this layout; where that is 0, bytes 24 to 27 are the TensorRT version (major,
minor, patch, build), which NVIDIA's trtexec --getPlanVersionOnly prints. Only TensorRT's runtime
can read the GPU, the precision, the shapes and the bindings: see plans/plan_runner.py.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import google_crc32c

from converters.util.errors import PlanError
from converters.util.shapes import Shape, format_shape

ENGINE_FILE_PREFIX = "trt-serialized-engine."

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_CRC_DELTA = 0xA282EAD8
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CURE = "Copy the model's assets again, or convert it again."


@dataclass(frozen=True)
class StoredEngine:
    """One engine of a file: the full shapes of its inputs when it was built, and its plan."""

    input_shapes: tuple[Shape, ...]
    plan: bytes

    def __str__(self) -> str:
        shapes = ", ".join(format_shape(shape) for shape in self.input_shapes)
        return f"engine for [{shapes}], {len(self.plan)} bytes"


def read_engine_file(path: str | Path, allow_empty: bool = False) -> list[StoredEngine]:
    """The engines of `path`, largest input first (the file's own order is a hash map's).

    A file without records is what save_gpu_specific_engines=False leaves; it is a PlanError unless
    `allow_empty`. So is a damaged or cut-off file: the message names the file and the record.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not data and not allow_empty:
        raise PlanError(
            f"{path} holds no engine: the model was saved before build() or with "
            "save_gpu_specific_engines=False. Convert it with the shapes to build."
        )
    engines = []
    for number, record in enumerate(_records(data, path)):
        try:
            engines.append(_parse_engine(record))
        except (ValueError, IndexError) as error:
            raise PlanError(
                f"{path}: record {number} is no TRTEngineInstance: {error}. {_CURE}"
            ) from error
    return sorted(engines, key=_volume, reverse=True)


def write_engine_file(path: str | Path, engines: Iterable[StoredEngine]) -> None:
    """Writes `engines` as TensorFlow would."""
    with open(path, "wb") as file:
        for engine in engines:
            record = b"".join(_field(1, _shape_bytes(shape)) for shape in engine.input_shapes)
            if engine.plan:
                record += _field(2, engine.plan)
            file.write(tfrecord(record))


def tfrecord(data: bytes) -> bytes:
    """The bytes of a TFRecord file that hold `data` as one record."""
    length = struct.pack("<Q", len(data))
    return length + _FOOTER.pack(_checksum(length)) + data + _FOOTER.pack(_checksum(data))


def _checksum(data: bytes) -> int:
    """The CRC-32C as TFRecord stores it: rotated and shifted, so that a CRC of CRCs is useful."""
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + _CRC_DELTA) & 0xFFFFFFFF


def _volume(engine: StoredEngine) -> tuple[int, tuple[Shape, ...]]:
    return sum(math.prod(shape) for shape in engine.input_shapes), engine.input_shapes


def _records(data: bytes, path: Path) -> Iterator[memoryview]:
    at, number = 0, 0
    view = memoryview(data)
    while at < len(data):

        def fail(what: str, number: int = number, at: int = at) -> PlanError:
            return PlanError(f"{path}: record {number} (at byte {at}) {what}. {_CURE}")

        if len(data) - at < _HEADER.size:
            raise fail(f"is cut off: the file ends after {len(data)} bytes")
        length, length_crc = _HEADER.unpack_from(data, at)
        if _checksum(data[at : at + 8]) != length_crc:
            raise fail("has a damaged length: its checksum is wrong")
        begin, end = at + _HEADER.size, at + _HEADER.size + length
        if end + _FOOTER.size > len(data):
            raise fail(f"is cut off: it has {len(data) - begin} of {length + _FOOTER.size} bytes")
        if _checksum(data[begin:end]) != _FOOTER.unpack_from(data, end)[0]:
            raise fail("is damaged: its checksum is wrong")
        yield view[begin:end]
        at, number = end + _FOOTER.size, number + 1


def _parse_engine(record: memoryview) -> StoredEngine:
    shapes, plan = [], b""
    for field, value in _fields(record):
        if field == 1:
            shapes.append(_parse_shape(_as_bytes(value)))
        elif field == 2:
            plan = bytes(_as_bytes(value))
    if not plan:
        raise ValueError("it has no plan")
    return StoredEngine(tuple(shapes), plan)


def _parse_shape(data: memoryview) -> Shape:
    """A TensorShapeProto: field 2 repeated Dim (field 1 size), field 3 unknown_rank."""
    dims = []
    for field, value in _fields(data):
        if field == 3 and value:
            raise ValueError("an input's rank is unknown")
        if field == 2:
            size = 0
            for dim_field, dim in _fields(_as_bytes(value)):
                if dim_field == 1 and isinstance(dim, int):
                    size = dim
            if size >= 1 << 63:
                raise ValueError("an input has an unknown dimension")
            dims.append(size)
    return tuple(dims)


def _as_bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a field has the wrong wire type")
    return value


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Each field's number and value; a varint as int, all else as bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield field, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire} is unknown")
        if field == 0 or at + length > len(data):
            raise ValueError("a field is cut off")
        yield field, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value & ((1 << 64) - 1), at
    raise ValueError("a number is too long")


def _field(number: int, data: bytes) -> bytes:
    return _to_varint(number << 3 | _BYTES) + _to_varint(len(data)) + data


def _shape_bytes(shape: Shape) -> bytes:
    dims = []
    for size in shape:
        dims.append(_field(2, _to_varint(1 << 3 | _VARINT) + _to_varint(size) if size else b""))
    return b"".join(dims)


def _to_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


MAGIC = b"ftrt"
_PLAN_HEADER_SIZE = 28
# Versions that make sense; other bytes mean that the layout is not the one known.
_TENSORRT_MAJORS = range(8, 30)


@dataclass(frozen=True)
class PlanHeader:
    """`tensorrt_version` ("8.6.0.12") is None where the bytes do not tell; `note` then says why."""

    size: int
    tensorrt_version: str | None
    note: str


def plan_header(plan: bytes) -> PlanHeader:
    """Reads what can be read of `plan`; any bytes are taken, none raises."""
    size = len(plan)
    if size < _PLAN_HEADER_SIZE:
        return PlanHeader(size, None, f"{size} bytes are too few for a plan")
    if plan[:4] != MAGIC:
        return PlanHeader(
            size,
            None,
            f"it begins with {plan[:4].hex()}, not with {MAGIC.hex()} as plans since TensorRT 8.6 "
            "do: it is older, or no plan",
        )
    (layout,) = struct.unpack_from("<I", plan, 4)
    major, minor, patch, build = plan[24:28]
    if layout != 0 or major not in _TENSORRT_MAJORS:
        return PlanHeader(size, None, f"its layout {layout} is not one whose version is known")
    return PlanHeader(size, f"{major}.{minor}.{patch}.{build}", "")


def plan_hash(plan: bytes) -> str:
    """The SHA-256 of a plan, in hexadecimal."""
    return hashlib.sha256(plan).hexdigest()
