"""Tests PlanRunner's own work: shapes, types, profiles and errors. made_up_runtime.py stands in for
TensorRT and the GPU. test_extract_plan_gpu.py uses real ones."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import made_up_runtime
import numpy as np
import pytest
from made_up_driver import Driver
from made_up_runtime import made_up_plan

from converters.plans import cuda_driver, gpu_tensor, plan_runner
from converters.plans.plan_compare import _differences, random_inputs
from converters.plans.plan_pool import PlanPool
from converters.plans.plan_runner import PlanRunner
from converters.util.errors import PlanError, PlanShapeError, PlanVersionError, UnavailableError

X, Y = "TensorRTInputPH_0", "TensorRTOutputPH_0"
LOAD = cuda_driver._load
RANGE = [[1, 4], [8, 4], [8, 4]]


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(plan_runner, "import_tensorrt", lambda: made_up_runtime)
    driver = Driver.installed(monkeypatch)
    yield driver
    assert driver.is_empty()


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def test_a_plan_with_explicit_batch_runs() -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        assert (runner.inputs, runner.outputs) == ((X,), (Y,))
        assert not runner.implicit_batch
        assert runner.profiles() == [{X: ((1, 4), (8, 4), (8, 4))}]
        for batch in (1, 3, 8):
            np.testing.assert_array_equal(runner.run({X: array(batch, 4)})[Y], 2 * array(batch, 4))


def test_a_plan_with_implicit_batch_runs(tmp_path: Path) -> None:
    path = tmp_path / "engine.plan"
    path.write_bytes(made_up_plan(implicit=[3, 2], max_batch=4, dtype="HALF"))
    with PlanRunner(path) as runner:
        assert runner.implicit_batch
        assert runner.profiles() == []
        assert runner.dtype(X) == np.float16
        given = array(4, 3, 2, dtype="float16")
        np.testing.assert_array_equal(runner.run({X: given})[Y], 2 * given)


def test_bindings_get_the_signatures_names() -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE]), names={X: "image", Y: "scores"}) as runner:
        assert (runner.inputs, runner.outputs) == (("image",), ("scores",))
        assert list(runner.run({"image": array(2, 4)})) == ["scores"]
        assert list(runner.profiles()[0]) == ["image"]


def test_the_profile_that_takes_the_shape_is_chosen() -> None:
    profiles = [[[1, 4], [2, 4], [2, 4]], [[5, 4], [5, 4], [9, 4]]]
    with PlanRunner(made_up_plan(profiles=profiles)) as runner:
        for batch in (2, 7):
            assert runner.run({X: array(batch, 4)})[Y].shape == (batch, 4)
        with pytest.raises(PlanError, match=r"takes TensorRTInputPH_0 3x4; it takes .*1x4 to 2x4"):
            runner.run({X: array(3, 4)})
        with pytest.raises(PlanShapeError, match="no profile"):
            runner.run({X: array(2, 4, 1)})


def test_tensors_on_the_host_stay_there() -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE], location="HOST")) as runner:
        # TensorRT reads this shape from the values, which are on the host.
        runner._context.shape = (2, 4)
        assert runner.host_inputs == (X,)
        np.testing.assert_array_equal(runner.run({X: array(2, 4)})[Y], 2 * array(2, 4))


def test_requests_of_the_same_shapes_use_the_same_memory(driver: Driver) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        first = runner.run({X: array(2, 4)})[Y]
        held = set(driver.held)
        again = runner.run({X: array(2, 4) + 1})[Y]
        assert set(driver.held) == held
        np.testing.assert_array_equal(first, 2 * array(2, 4))  # not the memory of the second
        np.testing.assert_array_equal(again, 2 * array(2, 4) + 2)
        runner.run({X: array(3, 4)})
        assert len(driver.held) == len(held)  # the old shapes' memory is given back


@pytest.mark.parametrize("values", [{"profiles": [RANGE]}, {"implicit": [4], "max_batch": 8}])
def test_a_graph_repeats_requests_of_the_same_shapes(driver: Driver, values: Any) -> None:
    with PlanRunner(made_up_plan(**values), cuda_graphs=True) as runner:
        for rows, shift, graphs in ((2, 0, 0), (2, 1, 1), (2, 2, 1), (3, 0, 0), (3, 1, 1)):
            given = array(rows, 4) + shift
            np.testing.assert_array_equal(runner.run({X: given})[Y], 2 * given)
            assert len(driver.graphs) == graphs
        assert runner.graph_error == ""


@pytest.mark.parametrize("refused_by", ["TensorRT", "driver"])
def test_a_plan_that_no_graph_can_record_runs(driver: Driver, refused_by: str) -> None:
    driver.refuses_graphs = refused_by == "driver"
    plan = made_up_plan(profiles=[RANGE], no_graph=refused_by == "TensorRT")
    with PlanRunner(plan, cuda_graphs=True) as runner:
        for shift in range(4):
            given = array(2, 4) + shift
            np.testing.assert_array_equal(runner.run({X: given})[Y], 2 * given)
        assert {"TensorRT": "gave no reason", "driver": "out of memory"}[
            refused_by
        ] in runner.graph_error


class Tensor:
    """An array that is given as a tensor on GPU 0, as PyTorch gives one."""

    def __init__(self, values: np.ndarray, device: tuple[int, int] = (2, 0)) -> None:
        self.values, self.device, self.streams = values, device, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: int) -> Any:
        self.streams.append(stream)
        return capsule(self.values, self.device)


def capsule(values: np.ndarray, device: tuple[int, int] = (2, 0)) -> Any:
    """NumPy's own capsule, with another device."""
    made = values.__dlpack__()
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.argtypes, address.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    fields = (ctypes.c_int32 * 2).from_address(address(made, b"dltensor") + 8)
    fields[:] = device
    return made


def test_tensors_on_the_gpu_are_inputs(driver: Driver) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        tensor = Tensor(array(2, 4) + 1)
        np.testing.assert_array_equal(runner.run({X: tensor})[Y], 2 * array(2, 4) + 2)
        assert tensor.streams == [7]
        np.testing.assert_array_equal(runner.run({X: capsule(array(2, 4))})[Y], 2 * array(2, 4))
        assert driver.copied["cuMemcpyDtoDAsync_v2"] == 2 * 32
        assert "cuMemcpyHtoDAsync_v2" not in driver.copied


@pytest.mark.parametrize(
    ("tensor", "match"),
    [
        (Tensor(array(2, 4), (2, 1)), "is on DLPack's device 2:1; the plan runs on GPU 0"),
        (capsule(array(2, 4), (1, 0)), "is on DLPack's device 1:0"),
        (Tensor(array(4, 2).T), "not one after the other"),
        (Tensor(array(2, 4, dtype="float16")), "takes float32 for .*, not float16"),
        (Tensor(array(9, 4)), "no profile"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tensor: Any, match: str) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        with pytest.raises(PlanError, match=match):
            runner.run({X: tensor})
        assert runner.run({X: array(1, 4)})[Y].shape == (1, 4)


def test_outputs_stay_on_the_gpu_and_outlive_the_runner(driver: Driver) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        first, second = (runner.run({X: array(2, 4) + shift}, on_gpu=True)[Y] for shift in (0, 1))
        assert runner.run({X: second})[Y][0, 0] == 4
    assert (first.shape, first.dtype) == ((2, 4), np.float32)
    np.testing.assert_array_equal(first.numpy(), 2 * array(2, 4))
    np.testing.assert_array_equal(second.numpy(), 2 * array(2, 4) + 2)
    interface = second.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["version"]) == ((2, 4), "<f4", 3)
    # A consumer calls the deleter, as the protocol says; a capsule that nobody takes calls it too.
    unused = first.__dlpack__()
    taken = Taken(second.__dlpack__())
    del first, second
    assert len(driver.held) == 2
    del unused
    assert len(driver.held) == 1
    taken.deleter(taken.address)
    assert not driver.held


def test_a_deleter_that_is_called_after_python_ended_does_nothing(driver: Driver) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        tensor = runner.run({X: array(2, 4)}, on_gpu=True)[Y]
    unused = tensor.__dlpack__()
    gpu_tensor._leave_to_the_system()
    taken = Taken(unused)
    taken.deleter(taken.address)
    assert taken.address in gpu_tensor._held
    gpu_tensor._held.clear()
    del tensor


class Taken:
    """What a consumer of DLPack keeps of a capsule."""

    def __init__(self, taken: Any) -> None:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.address = get(taken, b"dltensor")
        rename(taken, b"used_dltensor")
        # The deleter is the last pointer of a DLManagedTensor, behind 56 bytes.
        deleter = ctypes.c_void_p.from_address(self.address + 56).value
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)


def test_threads_run_side_by_side(driver: Driver) -> None:
    together = threading.Barrier(3)
    with PlanPool(made_up_plan(profiles=[RANGE]), contexts=3, names={X: "x", Y: "y"}) as pool:
        assert (pool.inputs, pool.outputs) == (("x",), ("y",))
        for runner in pool._runners:
            started = runner._start
            runner._start = lambda placed, started=started: (together.wait(20), started(placed))[1]

        def ask(number: int) -> bool:
            given = array(2, 4) + number
            return np.array_equal(pool.run({"x": given})["y"], 2 * given)

        with ThreadPoolExecutor(3) as threads:
            assert all(threads.map(ask, range(12)))
        with pytest.raises(PlanError, match="not z"):
            pool.run({"z": array(1, 4)})
        assert driver.contexts == 3
    pool.close()
    with pytest.raises(PlanError, match="the pool is closed"):
        pool.run({"x": array(1, 4)})
    with pytest.raises(ValueError, match="at least 1, not 0"):
        PlanPool(made_up_plan(profiles=[RANGE]), contexts=0)
    with pytest.raises(PlanError, match="cannot run"):
        PlanPool(made_up_plan(profiles=[RANGE], no_context=True), contexts=2)


def test_a_call_that_waits_when_the_pool_is_closed_ends() -> None:
    pool = PlanPool(made_up_plan(profiles=[RANGE]), contexts=1)
    (runner,) = pool._runners
    begun, go_on = threading.Event(), threading.Event()
    started = runner._start
    runner._start = lambda placed: (begun.set(), go_on.wait(20), started(placed))[2]
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(pool.run, {X: array(2, 4)})
        assert begun.wait(20)
        closing = threads.submit(pool.close)
        while pool._runners:
            time.sleep(0.01)
        waiting = [threads.submit(pool.run, {X: array(2, 4)}) for _ in range(2)]
        go_on.set()
        np.testing.assert_array_equal(first.result(20)[Y], 2 * array(2, 4))
        closing.result(20)
        # Whoever came before the runner was taken away has his answer.
        for call in waiting:
            try:
                np.testing.assert_array_equal(call.result(20)[Y], 2 * array(2, 4))
            except PlanError as error:
                assert "the pool is closed" in str(error)


def test_arrays_that_are_no_c_arrays_are_copied() -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        given = array(4, 8).T
        np.testing.assert_array_equal(runner.run({X: given})[Y], 2 * given)


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        ({}, "takes the inputs TensorRTInputPH_0, not none"),
        ({"other": array(1, 4)}, "not other"),
        ({X: array(1, 4, dtype="float64")}, "takes float32 for 'TensorRTInputPH_0', not float64"),
    ],
)
def test_wrong_inputs_are_refused(inputs: dict[str, np.ndarray], match: str) -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE])) as runner:
        with pytest.raises(PlanError, match=match):
            runner.run(inputs)
        # After the error, the runner still works.
        assert runner.run({X: array(1, 4)})[Y].shape == (1, 4)


def test_wrong_shapes_of_implicit_batch_are_refused() -> None:
    with PlanRunner(made_up_plan(implicit=[3], max_batch=4)) as runner:
        with pytest.raises(PlanShapeError, match="one batch from 1 to 4 .* not 5x3"):
            runner.run({X: array(5, 3)})
        with pytest.raises(PlanError, match="does not take 2x4"):
            runner.run({X: array(2, 4)})


def test_a_plan_for_another_gpu_or_version_is_refused_in_tensorrts_words() -> None:
    said = "The engine plan file is generated on an incompatible device, expecting compute 9.0"
    with pytest.raises(PlanError) as caught:
        PlanRunner(made_up_plan(refuse=said))
    text = str(caught.value)
    for part in (
        said,
        "TensorRT 8.6.0 on a GPU of paper cannot load the plan, built by TensorRT 8.6.0.12",
        "convert the model again here",
    ):
        assert part in text
    assert "this is not an error" not in text


def test_a_plan_by_another_tensorrt_is_refused() -> None:
    plan = made_up_plan(profiles=[RANGE]).replace(bytes([8, 6, 0, 12]), bytes([10, 3, 0, 1]), 1)
    with pytest.raises(PlanVersionError, match=r"8\.6\.0 .* built by TensorRT 10\.3\.0\.1"):
        PlanRunner(plan)


def test_what_fails_later_is_a_plan_error_too() -> None:
    with pytest.raises(PlanError, match="loads but cannot run"):
        PlanRunner(made_up_plan(profiles=[RANGE], no_context=True))
    for values, match in (
        ({"fail": True}, "failed to run"),
        ({"refuse_shapes": True}, "does not take 1x4"),
        ({"dtype": "FP8"}, "FP8"),
    ):
        plan = made_up_plan(profiles=[RANGE], **values)
        with PlanRunner(plan) as runner, pytest.raises(PlanError, match=match):
            runner.run({X: array(1, 4)})


def test_a_missing_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none\.plan cannot be read"):
        PlanRunner(tmp_path / "none.plan")


def test_a_machine_without_a_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "_load", LOAD)
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libcuda_of_nobody.so.1")
    with pytest.raises(UnavailableError, match="no NVIDIA driver is here"):
        cuda_driver.Device()


def test_errors_of_the_driver_are_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def cuInit(self, flags: int) -> int:  # noqa: N802
            return 999

        def cuGetErrorString(self, code: int, text: object) -> int:  # noqa: N802
            ctypes.cast(text, ctypes.POINTER(ctypes.c_char_p))[0] = b"out of luck"
            return 0

    monkeypatch.setattr(cuda_driver, "_load", Broken)
    with pytest.raises(UnavailableError, match=r"cuInit failed: out of luck \(error 999\)"):
        cuda_driver.Device()


def test_differences_are_to_the_bit() -> None:
    same = {"y": np.array([1.0, np.inf, np.nan], np.float32)}
    (found,) = _differences(same, {"y": same["y"].copy()})
    assert (found.equal, found.max_abs) == (True, 0.0)
    (found,) = _differences(
        {"y": np.array([1.0, 0.0], np.float32)}, {"y": np.array([1.5, -0.0], np.float32)}
    )
    assert (found.equal, found.max_abs) == (False, 0.5)
    (found,) = _differences({"y": np.array([0.0])}, {"y": np.array([-0.0])})
    assert (found.equal, found.max_abs) == (False, 0.0)
    (found,) = _differences({"y": np.array([np.nan])}, {"y": np.array([1.0])})
    assert found.max_abs == np.inf
    with pytest.raises(PlanError, match="the plan gives a, its TRTEngineOp b"):
        _differences({"a": np.zeros(1)}, {"b": np.zeros(1)})
    with pytest.raises(PlanError, match=r"float64 \(1,\), its TRTEngineOp float64 \(2,\)"):
        _differences({"a": np.zeros(1)}, {"a": np.zeros(2)})


def test_random_inputs_are_the_same_for_the_same_seed() -> None:
    wanted = {"a": ("float16", (2, 3)), "b": ("int32", (4,)), "c": ("bool", (50,))}
    first, again = random_inputs(wanted), random_inputs(wanted)
    for name, (dtype, shape) in wanted.items():
        assert (first[name].dtype, first[name].shape) == (np.dtype(dtype), shape)
        np.testing.assert_array_equal(first[name], again[name])
    assert set(first["c"]) == {True, False}
    assert not np.array_equal(first["a"], random_inputs(wanted, seed=1)["a"])
