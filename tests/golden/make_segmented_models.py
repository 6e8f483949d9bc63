"""Makes tests/golden/segmented: small models as TF-TRT cuts them, without plans.

    PYTHONPATH=. python tests/golden/make_segmented_models.py

TF-TRT's segmenter runs without a GPU and without TensorRT. So these are its own graphs, with its
own names, attributes and reasons for what it left out. The script needs TensorFlow 2.17.
make_converted_models.py makes the models with plans, on a GPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "segmented"
SIGNATURE = "serving_default"


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    from converters.segments.segmenter import SegmenterOptions

    tf.keras.utils.set_random_seed(7)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    image = tf.TensorSpec([None, 8, 8, 3], name="image")
    made = {}
    save(two_engines(tf), {"image": image}, "probabilities", "two_engines_native")
    made["two_engines"] = cut("two_engines_native", "two_engines", SegmenterOptions("FP16"))
    pair = {"left": tf.TensorSpec([None, 6], name="left"), "right": tf.TensorSpec([None, 6])}
    save(two_inputs(tf), pair, "joined", "whole_native")
    made["whole"] = cut("whole_native", "whole", SegmenterOptions("FP16"))
    freeze("two_engines_native", "frozen_native.pb")
    made["frozen.pb"] = cut("frozen_native.pb", "frozen.pb", SegmenterOptions(implicit_batch=True))
    write_provenance(made)
    print(f"{FOLDER}: {sum(p.stat().st_size for p in FOLDER.rglob('*') if p.is_file())} bytes")


def two_engines(tf: Any) -> Any:
    """Makes convolutions with a Cumsum between them. TF-TRT has no converter for this op, so there
    are two engines."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 3)),
            layers.Conv2D(4, 3, padding="same", activation="relu", bias_initializer="uniform"),
            layers.Conv2D(4, 3, padding="same", activation="relu", bias_initializer="uniform"),
            layers.Lambda(lambda x: tf.math.cumsum(x, axis=1)),
            layers.Conv2D(4, 3, activation="relu", bias_initializer="uniform"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax", bias_initializer="uniform"),
        ]
    )


def two_inputs(tf: Any) -> Any:
    """Makes a model with two inputs. All of it becomes one engine."""
    layers = tf.keras.layers
    left, right = layers.Input((6,)), layers.Input((6,))
    joined = layers.Dense(8, activation="relu", bias_initializer="uniform")(left)
    joined = layers.Multiply()([joined, layers.Dense(8, activation="tanh")(right)])
    return tf.keras.Model([left, right], layers.Dense(3, activation="sigmoid")(joined))


def save(model: Any, inputs: dict[str, Any], output: str, name: str) -> None:
    import tensorflow as tf

    @tf.function(input_signature=list(inputs.values()))
    def serve(*tensors: Any) -> Any:
        return {output: model(tensors[0] if len(tensors) == 1 else list(tensors))}

    names = list(inputs)
    specs = {key: tf.TensorSpec(spec.shape, spec.dtype, key) for key, spec in inputs.items()}
    named = tf.function(lambda **given: serve(*(given[key] for key in names)))
    signature = named.get_concrete_function(**specs)
    module = tf.Module()
    module.model = model
    tf.saved_model.save(module, str(FOLDER / name), {SIGNATURE: signature})


def freeze(source: str, name: str) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    model = tf.saved_model.load(str(FOLDER / source))
    frozen = convert_to_constants.convert_variables_to_constants_v2(model.signatures[SIGNATURE])
    (FOLDER / name).write_bytes(frozen.graph.as_graph_def().SerializeToString())


def cut(source: str, name: str, options: Any) -> dict[str, Any]:
    """Lets TF-TRT cut a model and saves it as the converter does. Also saves TF-TRT's reports."""
    import tensorflow as tf
    from tensorflow.python.compiler.tensorrt import trt_convert
    from tensorflow.python.framework import convert_to_constants

    from converters.segments.segmenter import ask_segmenter

    answer = ask_segmenter(FOLDER / source, options)
    reports = FOLDER / f"{Path(name).stem}_reports"
    reports.mkdir()
    (reports / "conversion.log").write_text(answer.log, "utf-8")
    write_detailed_report(source, options, reports / f"left_out.{SIGNATURE}.csv")
    if name.endswith(".pb"):
        (FOLDER / name).write_bytes(answer.graph_def.SerializeToString())
    else:
        model = tf.saved_model.load(str(FOLDER / source))
        function = model.signatures[SIGNATURE]
        frozen = convert_to_constants.convert_variables_to_constants_v2(function)
        converted = trt_convert._construct_function_from_graph_def(
            function, answer.graph_def, frozen
        )
        tf.saved_model.save(tf.Module(), str(FOLDER / name), {SIGNATURE: converted})
    return {"source": source, "options": vars(options)}


def write_detailed_report(source: str, options: Any, path: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        job = {
            "path": str(FOLDER / source),
            "result": str(Path(work) / "graph.pb"),
            "options": vars(options),
            "tags": None,
            "signature": None,
        }
        subprocess.run(
            [sys.executable, "-m", "converters.segments.segmenter", json.dumps(job)],
            env={
                **os.environ,
                "TF_TRT_SHOW_DETAILED_REPORT": str(path),
                "CUDA_VISIBLE_DEVICES": "",
            },
            check=True,
        )


def write_provenance(made: dict[str, Any]) -> None:
    import tensorflow as tf

    files = sorted(p for p in FOLDER.rglob("*") if p.is_file())
    values = {
        "command": "PYTHONPATH=. python tests/golden/make_segmented_models.py",
        "tensorflow": tf.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "tensorrt": None,
        "gpu": None,
        "models": made,
        "sha256": {
            p.relative_to(FOLDER).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in files
        },
    }
    (FOLDER / "PROVENANCE.json").write_text(json.dumps(values, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
