"""Tests PlanRunner's own work: shapes, types, profiles and errors. made_up_runtime.py stands in for
TensorRT and the GPU. test_extract_plan_gpu.py uses real ones."""

from __future__ import annotations

import ctypes
from pathlib import Path

import made_up_runtime
import numpy as np
import pytest
from made_up_runtime import Memory, made_up_plan

from converters.plans import cuda_driver, plan_runner
from converters.plans.plan_compare import _differences, random_inputs
from converters.plans.plan_runner import PlanRunner
from converters.util.errors import PlanError, UnavailableError

X, Y = "TensorRTInputPH_0", "TensorRTOutputPH_0"
RANGE = [[1, 4], [8, 4], [8, 4]]


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_runner, "import_tensorrt", lambda: made_up_runtime)
    monkeypatch.setattr(plan_runner, "Device", Memory)


@pytest.fixture(autouse=True)
def nothing_stays_open(runtime: None) -> object:
    Memory.open_devices = 0
    yield
    assert Memory.open_devices == 0


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
        with pytest.raises(PlanError, match="no profile"):
            runner.run({X: array(2, 4, 1)})


def test_tensors_on_the_host_stay_there() -> None:
    with PlanRunner(made_up_plan(profiles=[RANGE], location="HOST")) as runner:
        # TensorRT reads this shape from the values, which are on the host.
        runner._context.shape = (2, 4)
        np.testing.assert_array_equal(runner.run({X: array(2, 4)})[Y], 2 * array(2, 4))


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
        with pytest.raises(PlanError, match="one batch from 1 to 4 .* not 5x3"):
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
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libcuda_of_nobody.so.1")
    with pytest.raises(UnavailableError, match="no NVIDIA driver is here"):
        cuda_driver.Device()


def test_errors_of_the_driver_are_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        def cuInit(self, flags: int) -> int:  # noqa: N802
            return 999

        def cuGetErrorString(self, code: int, text: object) -> int:  # noqa: N802
            ctypes.cast(text, ctypes.POINTER(ctypes.c_char_p))[0] = b"out of luck"
            return 0

    monkeypatch.setattr(cuda_driver, "_load", Driver)
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
