"""Makes tests/golden/converted: small models with real TensorRT plans, on a machine with a GPU.

    PYTHONPATH=. python tests/golden/make_converted_models.py [FOLDER]

The script needs TensorFlow 2.17, TensorRT 8.6 with its Python package, and a GPU. It takes some
minutes. TensorRT's own runtime also runs each plan, and the results are compared with those of its
TRTEngineOp. PROVENANCE.json has versions, GPU, specs and hashes, but no paths of the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "converters")]

# These files of a conversion have paths or times of this machine in them.
DROPPED = ("repeat.sh", "conversion.log", "fingerprint.pb")
# Larger files do not belong in the repository.
MOST_BYTES = 1_000_000
ENVIRONMENT = ("tensorflow", "tensorrt_linked", "tensorrt_loaded", "gpus", "driver", "cuda")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "converted")
    folder = parser.parse_args().folder.resolve()
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if folder.exists():
        raise SystemExit(f"{folder} exists: remove it first")
    folder.mkdir(parents=True)
    os.chdir(folder)  # records then have relative paths
    made = {name: make(name, *job) for name, job in jobs().items()}
    write_provenance(folder, made)
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        if path.stat().st_size > MOST_BYTES:
            raise SystemExit(f"{path} has {path.stat().st_size} bytes; make the model smaller")
    print(f"{folder}: {len(files)} files, {sum(path.stat().st_size for path in files)} bytes")


def jobs() -> dict[str, tuple[Any, ...]]:
    """Returns for each name how the source is made, its file, the spec, and calibration batches."""
    import gpu_models
    import numpy as np

    from converters import ConversionSpec, ShapeRange

    shape = ShapeRange(min=(1, 16, 16, 3), max=(8, 16, 16, 3))
    generator = np.random.default_rng(3)
    batches = [generator.normal(size=(4, 16, 16, 3)).astype(np.float32) for _ in range(4)]

    def cnn(path: Path) -> None:
        import tensorflow as tf

        model = gpu_models.classifier(16, 3, 5)
        module = tf.Module()
        module.model = model
        spec = tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")
        serve = tf.function(lambda image: {"scores": model(image)}, input_signature=[spec])
        tf.saved_model.save(module, str(path), {"serving_default": serve})

    return {
        "fp16_explicit": (
            cnn,
            "cnn",
            ConversionSpec("FP16", shape_ranges={"image": shape}),
            None,
        ),
        "fp32_two_shapes": (
            cnn,
            "cnn",
            ConversionSpec("FP32", input_shapes=[{"image": (n, 16, 16, 3)} for n in (1, 8)]),
            None,
        ),
        "int8": (
            cnn,
            "cnn",
            # For so small a network, TensorRT has faster kernels than those of INT8.
            ConversionSpec("INT8", input_shapes={"image": (4, 16, 16, 3)}, require_int8=False),
            batches,
        ),
        # The model in the repository has a sort in its gap. This script now makes a cumulative sum.
        "fp16_gap": (
            gpu_models.save_with_gap,
            "gap",
            ConversionSpec("FP16", shape_ranges={"image": shape}),
            None,
        ),
        "static": (
            gpu_models.write_frozen_graph,
            "frozen.pb",
            ConversionSpec("FP32", mode="static", max_batch_size=8, outputs=["scores", "half"]),
            None,
        ),
    }


def make(name: str, source: Any, file: str, spec: Any, batches: Any) -> dict[str, Any]:
    from converters import convert

    native = Path("native") / file
    if not native.exists():
        native.parent.mkdir(exist_ok=True)
        source(native)
    print(f"{name}: {spec}", flush=True)
    report = convert(native, Path(name), spec, calibration_data=batches)
    clean_record(Path(name))
    compared = compare_plans(Path(name))
    for dropped in DROPPED:
        (Path(name) / dropped).unlink(missing_ok=True)
    return {
        "source": native.as_posix(),
        "spec": report.spec.to_json(),
        "calibration": None if batches is None else "4 batches of normal numbers, seed 3",
        "comparisons": compared,
    }


def clean_record(folder: Path) -> None:
    """Removes from conversion.json all that depends on the machine's folders."""
    path = folder / "conversion.json"
    values = json.loads(path.read_text("utf-8"))
    environment = values.get("environment", {})
    kept = {
        "spec": values["spec"],
        "environment": {key: environment.get(key) for key in ENVIRONMENT},
    }
    path.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def compare_plans(model: Path) -> list[Any]:
    from converters import extract_plans

    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "plans"
        made = extract_plans(model, out, partial=True, compare=True)
        shutil.rmtree(out)
    print(made, flush=True)
    return [dict(comparison) for comparison in made.comparisons]


def write_provenance(folder: Path, made: dict[str, Any]) -> None:
    first = next(iter(made))
    record = json.loads((folder / first / "conversion.json").read_text("utf-8"))
    values = {
        "command": "PYTHONPATH=. python tests/golden/make_converted_models.py",
        "python": ".".join(map(str, sys.version_info[:3])),
        "environment": record["environment"],
        "models": made,
        "sha256": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    (folder / "PROVENANCE.json").write_text(json.dumps(values, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
