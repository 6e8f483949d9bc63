"""The reader takes engine files as TensorFlow writes them. Errors name the file and the damaged
record."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest
from trt_graphs import plan_bytes

from converters.model.engine_file import (
    StoredEngine,
    plan_hash,
    plan_header,
    read_engine_file,
    tfrecord,
    write_engine_file,
)
from converters.util.errors import PlanError

ENGINES = [
    StoredEngine(((8, 224, 224, 3), (8, 5)), plan_bytes(1, 5000)),
    StoredEngine(((1, 224, 224, 3), (1, 5)), plan_bytes(2, 3000)),
    StoredEngine(((), (0, 3)), plan_bytes(3, 200)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "trt-serialized-engine.TRTEngineOp_000_000"
    write_engine_file(path, ENGINES)
    return path


def test_what_is_written_is_read(path: Path) -> None:
    assert read_engine_file(path) == ENGINES


def test_engines_come_largest_first(tmp_path: Path) -> None:
    write_engine_file(tmp_path / "file", ENGINES[::-1])
    assert read_engine_file(tmp_path / "file") == ENGINES


def test_tensorflow_reads_what_is_written(path: Path) -> None:
    import tensorflow as tf
    from tensorflow.core.framework import tensor_shape_pb2

    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    assert len(records) == len(ENGINES)
    shape = tensor_shape_pb2.TensorShapeProto(
        dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=n) for n in (8, 224, 224, 3)]
    ).SerializeToString()
    assert records[0].startswith(b"\x0a" + bytes([len(shape)]) + shape)


def engine_instance() -> type:
    """Makes the class of the message TRTEngineInstance, which TensorFlow's wheel lacks."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from tensorflow.core.framework import tensor_shape_pb2

    file = descriptor_pb2.FileDescriptorProto(
        name="trt_engine_instance.proto", package="test", syntax="proto3"
    )
    file.dependency.append(tensor_shape_pb2.DESCRIPTOR.name)
    message = file.message_type.add(name="TRTEngineInstance")
    message.field.add(
        name="input_shapes",
        number=1,
        label=3,
        type=11,
        type_name=".tensorflow.TensorShapeProto",
    )
    message.field.add(name="serialized_engine", number=2, label=1, type=12)
    pool = descriptor_pool.Default()
    try:
        found = pool.FindMessageTypeByName("test.TRTEngineInstance")
    except KeyError:
        pool.Add(file)
        found = pool.FindMessageTypeByName("test.TRTEngineInstance")
    made: type = message_factory.GetMessageClass(found)
    return made


def test_what_tensorflow_writes_is_read(tmp_path: Path) -> None:
    import tensorflow as tf

    made = engine_instance()
    path = tmp_path / "file"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for engine in ENGINES:
            message = made()
            for shape in engine.input_shapes:
                added = message.input_shapes.add()
                for size in shape:
                    added.dim.add(size=size)
            message.serialized_engine = engine.plan
            writer.write(message.SerializeToString())
    assert read_engine_file(path) == ENGINES
    # The project's writer gives the same bytes as TensorFlow's.
    write_engine_file(tmp_path / "ours", ENGINES)
    assert (tmp_path / "ours").read_bytes() == path.read_bytes()


def refused(path: Path, match: str) -> None:
    with pytest.raises(PlanError, match=match) as caught:
        read_engine_file(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "none", "cannot be read")


def test_an_empty_file_is_refused_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    refused(path, "save_gpu_specific_engines=False")
    assert read_engine_file(path, allow_empty=True) == []


def test_a_cut_off_file_is_refused(path: Path) -> None:
    data = path.read_bytes()
    second = record_begins(data)[1]
    for keep in (1, 11, 12, 500, second - 1):
        path.write_bytes(data[:keep])
        refused(path, r"record 0 \(at byte 0\)")
    for keep in (second + 1, second + 11, second + 12, second + 999):
        path.write_bytes(data[:keep])
        refused(path, rf"record 1 \(at byte {second}\).* cut off")
    # If the file ends between two records, nobody can tell that something is missing.
    path.write_bytes(data[:second])
    assert read_engine_file(path) == ENGINES[:1]


def test_every_damaged_byte_is_noticed(path: Path) -> None:
    data = path.read_bytes()
    begins = record_begins(data)
    positions = {*range(24), *range(begins[1], begins[1] + 16), *range(len(data) - 6, len(data))}
    for at in sorted(positions | set(random.Random(0).sample(range(len(data)), 40))):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        number = sum(begin <= at for begin in begins) - 1
        refused(path, f"record {number} ")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"plain text\n" * 9, os.urandom(300), plan_bytes(1)):
        path.write_bytes(data)
        refused(path, "record 0 .* damaged")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no plan"),
        (b"\x0a\x00", "no plan"),
        (b"\x12\x05abc", "cut off"),
        (b"\x12\x80", "cut off"),
        (b"\x10\x01", "wrong wire type"),
        (b"\x08\x01\x12\x01x", "wrong wire type"),
        (b"\x13abc", "wire type 3"),
        (b"\x0a\x02\x18\x01\x12\x01x", "rank is unknown"),
        (b"\x0a\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01" + b"\x12\x01x", "unknown dimension"),
        (b"\x12" + b"\xff" * 10, "too long"),
    ],
)
def test_a_record_that_is_no_engine_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "file"
    good = tfrecord(b"\x0a\x04\x12\x02\x08\x05\x12\x01x")
    path.write_bytes(good + tfrecord(data))
    refused(path, f"record 1 is no TRTEngineInstance: .*{why}")
    path.write_bytes(good)
    assert read_engine_file(path) == [StoredEngine(((5,),), b"x")]


def test_unknown_fields_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(
        tfrecord(b"\x18\x07\x22\x01z\x29" + bytes(8) + b"\x35" + bytes(4) + b"\x12\x01x")
    )
    assert read_engine_file(path) == [StoredEngine((), b"x")]


def record_begins(data: bytes) -> list[int]:
    begins, at = [], 0
    while at < len(data):
        begins.append(at)
        at += 16 + struct.unpack_from("<Q", data, at)[0]
    return begins


def test_the_header_of_a_plan_tells_its_version() -> None:
    header = plan_header(plan_bytes(0, 500))
    assert (header.tensorrt_version, header.size, header.note) == ("8.6.0.12", 500, "")
    assert plan_header(plan_bytes(0, version=(10, 3, 0, 26))).tensorrt_version == "10.3.0.26"


@pytest.mark.parametrize(
    ("plan", "note"),
    [
        (b"", "0 bytes are too few"),
        (b"ftrt" + bytes(23), "27 bytes are too few"),
        (b"ptrt" + bytes(100), "begins with 70747274"),
        (b"ftrt" + struct.pack("<I", 1) + bytes(100), "layout 1"),
        (b"ftrt" + bytes(100), "layout 0 is not one"),
    ],
)
def test_an_unknown_version_is_said_to_be_unknown(plan: bytes, note: str) -> None:
    header = plan_header(plan)
    assert header.tensorrt_version is None
    assert note in header.note


def test_the_hash_of_a_plan_is_sha256() -> None:
    assert plan_hash(b"abc").startswith("ba7816bf8f01cfea")
