"""Tests from_dlpack and DeviceFrames in host memory. tests/gpu/test_dlpack_gpu.py uses a GPU."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from fork_server import printed_by
from resident import resident_bytes

import tf_nvcodec as nvc

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


class Watched(np.ndarray):
    """An array that allows weak references, which tell a test when the array is freed."""


def numbers(shape: tuple[int, ...], dtype: str = "uint8") -> npt.NDArray[Any]:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def aligned(shape: tuple[int, ...], dtype: str = "uint8", off: int = 0) -> npt.NDArray[Any]:
    """Returns `numbers` at an address that is `off` bytes past a multiple of 64. TensorFlow needs
    multiples of 64, so from_dlpack must copy the others."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    first = -memory.ctypes.data % 64 + off
    array = memory[first : first + size].view(dtype).reshape(shape)
    array[...] = numbers(shape, dtype)
    return array


def address(tensor: tf.Tensor) -> int:
    return int(np.from_dlpack(nvc.DeviceFrames(tensor)).ctypes.data)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 4, 5), (2, 0, 3), (1, 7, 1)])
def test_there_and_back(dtype: str, shape: tuple[int, ...]) -> None:
    array = numbers(shape, dtype)
    tensor = nvc.from_dlpack(array)
    assert tensor.dtype.as_numpy_dtype == array.dtype
    assert tensor.device.endswith("CPU:0")
    np.testing.assert_array_equal(tensor, array)
    back = np.from_dlpack(nvc.DeviceFrames(tensor))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_nothing_is_copied() -> None:
    array = aligned((5, 6), "float32")
    tensor = nvc.from_dlpack(array)
    assert address(tensor) == array.ctypes.data
    array[2, 3] = -1
    assert float(tensor[2, 3]) == -1


@pytest.mark.parametrize("off", [1, 8, 16, 32])
def test_memory_that_kernels_could_not_read_is_copied(off: int) -> None:
    array = aligned((64,), off=off)
    tensor = nvc.from_dlpack(array)
    assert address(tensor) % 64 == 0
    np.testing.assert_array_equal(tf.cast(tensor, tf.int32) + 1, np.arange(64) + 1)


def test_results_are_never_put_into_the_array() -> None:
    array = aligned((1000,), "float32")
    before = array.copy()
    tensor = nvc.from_dlpack(array)
    # The only reference to the shared tensor is lost here. TensorFlow must still not reuse its
    # memory, because that is the array's.
    tensor = tf.nn.relu(-tensor) - 5.0
    for _ in range(3):
        tf.square(nvc.from_dlpack(array))
    np.testing.assert_array_equal(array, before)


def test_the_array_lives_as_long_as_the_tensor() -> None:
    array = aligned((1 << 16,)).view(Watched)
    seen = weakref.ref(array)
    tensor = nvc.from_dlpack(array)
    part = tensor[5:10]
    same = tf.reshape(tensor, (256, 256))
    del array, tensor
    gc.collect()
    assert seen() is not None
    np.testing.assert_array_equal(same[0, 5:10], part)
    del same
    gc.collect()
    assert seen() is None


def test_the_tensor_lives_as_long_as_the_array() -> None:
    frames = tf.random.uniform((64, 64), maxval=256, dtype=tf.int32, seed=1)
    want = frames.numpy().copy()
    array = np.from_dlpack(nvc.DeviceFrames(frames))
    del frames
    gc.collect()
    for _ in range(20):
        tf.random.uniform((64, 64), maxval=256, dtype=tf.int32)
    np.testing.assert_array_equal(array, want)


def test_decoded_frames() -> None:
    video = nvc.encode_video(numbers((4, 64, 64, 3)))
    frames = nvc.decode_video(video).frames
    shared = np.from_dlpack(nvc.DeviceFrames(frames))
    np.testing.assert_array_equal(shared, frames)
    # NumPy makes arrays from DLPack read-only, and does not export read-only arrays.
    with pytest.raises(BufferError, match="readonly"):
        nvc.from_dlpack(shared)
    again = nvc.encode_video(nvc.from_dlpack(shared.copy()))
    assert bytes(again.numpy()) == bytes(nvc.encode_video(frames).numpy())


@pytest.mark.serial
def test_memory_is_given_back() -> None:
    def exchange(times: int) -> int:
        for _ in range(times):
            tensor = nvc.from_dlpack(aligned((1 << 20,)))
            np.from_dlpack(nvc.DeviceFrames(tensor))
            nvc.DeviceFrames(tensor).__dlpack__()  # No library takes this capsule.
        return resident_bytes()

    before = exchange(20)
    assert exchange(300) < before + (50 << 20)


def test_a_capsule_serves_once() -> None:
    class Again:
        def __init__(self) -> None:
            self.capsule = nvc.DeviceFrames(tf.range(5)).__dlpack__()

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    once = Again()
    np.testing.assert_array_equal(nvc.from_dlpack(once), np.arange(5))
    with pytest.raises(TypeError, match="an unused capsule"):
        nvc.from_dlpack(once)


def test_a_refused_array_is_still_its_owners() -> None:
    array = numbers((8, 8)).T.view(Watched)
    seen = weakref.ref(array)
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"not row-major.*contiguous"):
            nvc.from_dlpack(array)
    np.testing.assert_array_equal(array, numbers((8, 8)).T)
    del array
    gc.collect()
    assert seen() is None


def test_what_is_none_is_refused() -> None:
    for thing in (3, "text", [1, 2], None, object()):
        with pytest.raises(TypeError, match="has neither"):
            nvc.from_dlpack(thing)
    with pytest.raises(TypeError, match="an eager tensor"):
        nvc.DeviceFrames(np.zeros(3))
    with pytest.raises(tf.errors.UnimplementedError, match="no type for a tensor of string"):
        nvc.DeviceFrames(tf.constant("text")).__dlpack__()


class Foreign:
    """Stands in for an array of another library, with any capsule and device."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_other_devices_are_named() -> None:
    capsule = nvc.DeviceFrames(tf.range(5)).__dlpack__()
    with pytest.raises(ValueError, match=r"DLPack device \(7, 0\) can't be tensors"):
        nvc.from_dlpack(Foreign(capsule, (7, 0)))
    with pytest.raises(ValueError, match="GPU 93, which TensorFlow does not use"):
        nvc.from_dlpack(Foreign(capsule, (2, 93)))
    for nothing in (None, 5, object()):
        with pytest.raises(TypeError, match="an unused capsule"):
            nvc.from_dlpack(Foreign(nothing, (1, 0)))


def test_fields_that_lie_are_refused() -> None:
    from tf_nvcodec.python import dlpack_capsule

    def changed(**fields: Any) -> Foreign:
        capsule = nvc.DeviceFrames(tf.zeros((2, 3), tf.uint8)).__dlpack__()
        view = dlpack_capsule.view(capsule)
        for name, value in fields.items():
            setattr(view, name, value)
        return Foreign(capsule, (1, 0))

    sizes = (ctypes.c_int64 * 2)(-1, 3)
    huge = (ctypes.c_int64 * 2)(1 << 62, 1 << 62)
    long = ctypes.POINTER(ctypes.c_int64)
    for fields, error in (
        ({"code": 9}, TypeError),
        ({"bits": 12}, TypeError),
        ({"lanes": 4}, TypeError),
        ({"device_type": 2}, tf.errors.InvalidArgumentError),
        ({"ndim": -1}, tf.errors.InvalidArgumentError),
        ({"ndim": 300}, tf.errors.InvalidArgumentError),
        ({"data": None}, tf.errors.InvalidArgumentError),
        ({"shape": ctypes.cast(sizes, long)}, tf.errors.InvalidArgumentError),
        ({"shape": ctypes.cast(huge, long)}, tf.errors.InvalidArgumentError),
    ):
        with pytest.raises(error):
            nvc.from_dlpack(changed(**fields))


def test_what_a_consumer_refuses_is_freed_and_its_words_are_heard() -> None:
    tensor = nvc.from_dlpack(watched := aligned((4,), "float64").view(Watched))
    gone = weakref.ref(watched)
    del watched

    class Refuses:
        def __dlpack__(self, **options: object) -> object:
            return nvc.DeviceFrames(tf.cast([1, 2], tf.bfloat16)).__dlpack__()

    with pytest.raises((RuntimeError, BufferError), match="dtype"):  # NumPy has no bfloat16.
        np.from_dlpack(Refuses())
    capsule = nvc.DeviceFrames(tensor).__dlpack__()
    del tensor
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


def test_a_capsule_may_outlive_the_interpreter() -> None:
    script = (
        "import builtins, sys, tensorflow as tf, tf_nvcodec as nvc\n"
        "class Cycle: pass\n"
        "cycle = Cycle()\n"
        "cycle.itself, cycle.capsule = cycle, nvc.DeviceFrames(tf.zeros([7])).__dlpack__()\n"
        "sys.modules['kept'] = cycle\n"
        "builtins.kept = nvc.DeviceFrames(tf.zeros([5])).__dlpack__()\n"
    )
    printed_by("-c", script)


def test_the_arguments_of_dlpack() -> None:
    frames = nvc.DeviceFrames(tf.range(5))
    assert frames.__dlpack_device__() == (1, 0)
    for arguments in ({"stream": None}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}):
        assert "dltensor" in repr(frames.__dlpack__(**arguments))
    with pytest.raises(BufferError, match="copy the result"):
        frames.__dlpack__(copy=True)
    with pytest.raises(BufferError, match=r"device \(1, 0\), not \(2, 0\)"):
        frames.__dlpack__(dl_device=(2, 0))
    assert not hasattr(frames, "__cuda_array_interface__")
    frames.wait_for(1)  # In host memory there is nothing to wait for.


def test_cuda_arrays_need_a_gpu() -> None:
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")

    class Cuda:
        def __init__(self) -> None:
            self.__cuda_array_interface__ = {
                "version": 3,
                "shape": (4,),
                "typestr": "|u1",
                "data": (0x1000, False),
            }

    with pytest.raises(ValueError, match="TensorFlow has none"):
        nvc.from_dlpack(Cuda())


def test_no_graph_can_hold_memory() -> None:
    @tf.function
    def inside() -> tf.Tensor:
        return nvc.from_dlpack(np.zeros(3))

    with pytest.raises(RuntimeError, match="call it eagerly"):
        inside()

    @tf.function
    def lend(tensor: tf.Tensor) -> tf.Tensor:
        nvc.DeviceFrames(tensor)
        return tensor

    with pytest.raises(RuntimeError, match="call it eagerly"):
        lend(tf.zeros(3))
