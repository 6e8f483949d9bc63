"""A TensorFlow that cannot run engines refuses a converted model. The error says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from converters.checks import runnable
from converters.checks.runnable import Runnable, load_error, run_batch
from converters.cli import main
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.util.errors import ModelError, UnavailableError, VerificationError

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "converted"
NO_KERNEL = (
    "No OpKernel was registered to support Op 'TRTEngineOp' used by ...\nRegistered devices: [CPU]"
)


@pytest.mark.parametrize("compiled_in", [True, False])
def test_what_is_missing(monkeypatch: pytest.MonkeyPatch, compiled_in: bool) -> None:
    monkeypatch.setattr(runnable, "tftrt_is_compiled_in", lambda: compiled_in)
    says = "need a GPU, and TensorFlow finds none" if compiled_in else "was built without TF-TRT"

    def call(_: Any) -> Any:
        raise ValueError(NO_KERNEL)

    with pytest.raises(UnavailableError, match=f"the converted model holds .*{says}") as caught:
        run_batch(Runnable("serve", None, call), {}, "converted", 0)
    assert "OpKernel" not in str(caught.value)
    found = load_error("a/model", ValueError(NO_KERNEL))
    assert isinstance(found, UnavailableError) and says in str(found)


def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runnable, "tftrt_is_compiled_in", lambda: True)

    def call(_: Any) -> Any:
        raise ValueError("TRTEngineOp_0: out of memory")

    with pytest.raises(VerificationError, match="at batch 1 .*out of memory"):
        run_batch(Runnable("serve", None, call), {}, "converted", 0)
    assert isinstance(load_error("m", ValueError("TRTEngineOp_0: cut off")), ModelError)


@pytest.mark.skipif(
    not tftrt_is_compiled_in() or bool(tf.config.list_physical_devices("GPU")),
    reason="it takes a TensorFlow with TF-TRT and no GPU",
)
@pytest.mark.parametrize("models", [("native/gap", "fp16_gap"), ("native/frozen.pb", "static")])
def test_without_a_gpu(models: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *(str(GOLDEN / name) for name in models), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "need a GPU, and TensorFlow finds none" in said and said.count("\n") == 1
