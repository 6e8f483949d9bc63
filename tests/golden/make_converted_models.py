"""Makes tests/golden/converted: small models with the engines that TensorRT built for them.

    PYTHONPATH=.:tests/converters python tests/golden/make_converted_models.py

It needs a GPU, TensorFlow 2.17 and TensorRT 8.6. Tests on machines without a GPU read the results:
graphs, plans, tables and records as they really are. PROVENANCE.json says what made them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "converted"


def main() -> None:
    import gpu_models
    import numpy as np
    import tensorflow as tf

    from converters import ConversionSpec, ShapeRange, convert
    from converters.record import file_hashes

    shutil.rmtree(FOLDER, ignore_errors=True)
    native = FOLDER / "native"
    native.mkdir(parents=True)
    with tf.device("CPU:0"):
        gpu_models.save_with_gap(native / "gap")
        gpu_models.save_two_inputs(native / "two_inputs")
    gpu_models.write_frozen_graph(native / "frozen.pb")
    images = np.random.default_rng(0).normal(size=(16, 16, 16, 3)).astype(np.float32)
    two = {
        "left": ShapeRange((1, 16, 16, 3), (4, 16, 16, 3)),
        "right": ShapeRange((1, 8, 8, 3), (4, 8, 8, 3)),
    }
    sets = [{"image": (4, 16, 16, 3)}, {"image": (8, 16, 16, 3)}]
    frozen = ConversionSpec("FP16", max_batch_size=4, outputs=["scores", "half"])
    jobs = {
        "two_inputs_fp32_explicit": ("two_inputs", ConversionSpec("FP32", shape_ranges=two), None),
        "frozen_fp16_static": ("frozen.pb", frozen, None),
        "gap_int8": (
            "gap",
            ConversionSpec("INT8", input_shapes=sets),
            [images[i : i + 4] for i in range(0, 16, 4)],
        ),
    }
    for name, (source, spec, data) in jobs.items():
        report = convert(native / source, FOLDER / name, spec, calibration_data=data)
        print(report, flush=True)
        (FOLDER / name / "conversion.log").unlink()  # paths and times of one machine
    record = json.loads((FOLDER / name / "conversion.json").read_text())
    provenance = {
        "script": "tests/golden/make_converted_models.py",
        "python": sys.version.split()[0],
        "environment": record["environment"],
        "files": file_hashes(FOLDER),
    }
    (FOLDER / "PROVENANCE.json").write_text(json.dumps(provenance, indent=2) + "\n")


if __name__ == "__main__":
    main()
