"""`import converters` works anywhere, and quickly."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import converters
from converters import __version__

ROOT = Path(__file__).resolve().parent.parent.parent

# This code makes imports of the named packages fail, as if they were not installed.
BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCK:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def python(code: str, block: tuple[str, ...] = ()) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"BLOCK = {block!r}\n{BLOCKED}\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_imports_neither_tensorflow_nor_tensorrt():
    code = "import converters, sys; print([m for m in sys.modules if m.startswith('tensor')])"
    assert python(code) == "[]"
    # NumPy is left out too, because its import takes long.
    assert python("import converters, sys; print('numpy' in sys.modules)") == "False"


def test_the_version_is_the_distribution_s():
    text = (ROOT / "tf_nvcodec" / "version.py").read_text()
    assert f'__version__ = "{__version__}"\n' in text


def test_every_module_imports_without_them():
    folder = ROOT / "converters"
    files = folder.rglob("*.py")
    modules = sorted(".".join(f.relative_to(ROOT).with_suffix("").parts) for f in files)
    wanted = [name.replace(".__init__", "") for name in modules if "__main__" not in name]
    assert "converters.cli.app" in wanted and "converters" in wanted
    code = f"import importlib\nfor name in {wanted!r}: importlib.import_module(name)"
    python(code, block=("tensorflow", "tensorrt", "tqdm"))


def test_what_works_without_tensorflow():
    code = """
import converters
spec = converters.ConversionSpec(precision="fp16", input_shapes={"x": (8, 2)})
assert spec.resolved().precision == "FP16"
try:
    converters.ConversionSpec(precision="fp17").resolved()
except converters.SpecError as error:
    print(error)
from converters.cli import main
assert main(["--help"]) == 0
assert main(["convert", "in", "out", "--max-batch-size", "3"]) == 1
report = converters.doctor()
assert not report.ok
print(report.to_text())
"""
    shown = python(code, block=("tensorflow", "tensorrt", "numpy"))
    assert "precision='fp17'" in shown and "exit codes:" in shown


def test_the_doctor_without_tensorflow(tmp_path):
    """The doctor asks a child process. There too, the import of TensorFlow fails."""
    (tmp_path / "tensorflow.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'tensorflow'\", name='tensorflow')"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import converters\n"
    shown = python(code + "print(converters.doctor().to_text())")
    assert "TensorFlow is not installed" in shown
    assert "pip install 'tensorflow[and-cuda]==2.17.1'" in shown


def test_names_stay_functions_whatever_is_imported_first():
    code = """
import importlib
module = importlib.import_module("converters.environment.doctor")
import converters
from converters import doctor
assert doctor is module.doctor is converters.doctor and callable(doctor)
import converters.convert_model
assert converters.convert is converters.convert_model.convert
from converters.checks.verify import verify
assert verify is converters.verify
"""
    python(code)


def test_modules_that_users_import():
    """Users import from these paths, which the documentation names. They must stay, even if the
    code moves."""
    from converters.calibration_data import VideoFiles, batches
    from converters.compare import Thresholds, default_thresholds
    from converters.denylist_search import find_denylist
    from converters.plan_runner import PlanRunner
    from converters.unchanged import main

    assert isinstance(default_thresholds("FP16"), Thresholds)
    assert all(map(callable, (VideoFiles, batches, find_denylist, PlanRunner, main)))


def test_the_public_names():
    assert set(converters.__all__) <= set(dir(converters))
    for name in converters.__all__:
        module = converters._ELSEWHERE.get(name, "util.errors")
        assert (ROOT / "converters" / f"{module.replace('.', '/')}.py").exists(), name
        assert getattr(converters, name) is getattr(
            importlib.import_module(f"converters.{module}"), name
        )
    with pytest.raises(AttributeError, match="no attribute 'convrt'"):
        converters.convrt  # noqa: B018
