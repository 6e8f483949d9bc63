"""Asks TF-TRT itself which nodes it would take: its segmenter runs in a child process, as
`python -m converters.segments.segmenter JOB`.

TF-TRT's graph pass decides without a GPU and without the TensorRT library; only TensorFlow has to
be built with TF-TRT (2.17). No engine is built. Graphs are cut as for dynamic mode without
calibration, because static mode and calibration would build engines while cutting.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from converters.model.trt_graph import ENGINE_OP, LoadedGraph
from converters.util.child import child_environment
from converters.util.custom_ops import load_custom_ops, loaded_custom_ops, unknown_op
from converters.util.errors import UnavailableError

# Only at this verbosity does the segmenter log which node it leaves out, and why.
SEGMENTER_LOG = {
    "TF_CPP_VMODULE": "segment=1",
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TF_CPP_MAX_LOG_LEVEL": "0",
}
_TIMEOUT_S = 600
# Lines of TensorFlow's log and of absl's, and of a traceback.
_LOG = (
    r"\S+ [\d:.]+: [{0}] \S+\] |[{0}]\d{{4}} |WARNING: All log messages|To enable the following|\s"
)
_NO_ERROR, _NO_END = re.compile(_LOG.format("IWEF")), re.compile(_LOG.format("IW"))


@dataclass(frozen=True)
class SegmenterOptions:
    """What decides how TF-TRT cuts a graph; the names are ConversionSpec's."""

    precision: str = "FP32"
    implicit_batch: bool = False
    minimum_segment_size: int = 3
    op_denylist: tuple[str, ...] = ()
    node_denylist: tuple[str, ...] = ()
    max_engines: int | None = None  # TF_TRT_MAX_ALLOWED_ENGINES; None is TF-TRT's 20


@dataclass(frozen=True)
class SegmenterAnswer:
    """The graph as TF-TRT would cut it (a GraphDef), and the log of its segmenter."""

    graph_def: Any
    log: str


def tftrt_is_compiled_in() -> bool:
    """Whether this TensorFlow has TF-TRT inside: 2.17 has it, 2.18 and later do not."""
    try:
        from tensorflow.compiler.tf2tensorrt import _pywrap_py_utils as tftrt
    except ImportError:
        return False
    return tuple(tftrt.get_linked_tensorrt_version()) != (0, 0, 0)


def why_not_asked(model: LoadedGraph) -> str | None:
    """Why the segmenter cannot be asked about the model; None where it can."""
    if model.kind == "meta_graph":
        return (
            "a MetaGraph's variables are in its checkpoint, and the segmenter takes frozen graphs"
        )
    if model.kind == "saved_model" and not model.signatures:
        return "a SavedModel without signatures has no graph that serves"
    return None


def ask_segmenter(
    path: str | Path,
    options: SegmenterOptions | None = None,
    *,
    tags: Sequence[str] | None = None,
    signature: str | None = None,
) -> SegmenterAnswer:
    """Cuts the model at `path` (SavedModel folder or frozen graph) as a conversion would.

    `signature` is one of a SavedModel's (None: its only one). UnavailableError: this TensorFlow has
    no TF-TRT, or TF-TRT cannot cut the model; the message then ends with TensorFlow's own error.
    """
    if not tftrt_is_compiled_in():
        raise UnavailableError(
            "TF-TRT's segmenter cannot be asked: this TensorFlow has no TF-TRT inside. "
            "Install tensorflow 2.17, or go by the rules of converters.segments.exclusions."
        )
    from tensorflow.core.framework import graph_pb2

    options = options or SegmenterOptions()
    with tempfile.TemporaryDirectory(prefix="segmenter-") as folder:
        result, log = Path(folder) / "segmented.pb", Path(folder) / "log"
        job = {
            "path": str(Path(path).resolve()),
            "result": str(result),
            "options": asdict(options),
            "tags": None if tags is None else list(tags),
            "signature": signature,
            "custom_ops": loaded_custom_ops(),
        }
        with open(log, "wb") as stderr:
            code = _run(job, options, stderr, folder)
        text = log.read_text("utf-8", "replace")
        if code != 0 or not result.is_file():
            raise UnavailableError(
                unknown_op(path, text)
                or f"TF-TRT's segmenter could not cut {path} (exit code {code}): "
                f"{_last_lines(text)}"
            )
        graph = graph_pb2.GraphDef()
        graph.ParseFromString(result.read_bytes())
        return SegmenterAnswer(graph, text)


def _run(job: dict[str, Any], options: SegmenterOptions, stderr: Any, folder: str) -> int:
    root = str(Path(__file__).resolve().parents[2])
    # A json.py in the working folder is not meant.
    path = os.pathsep.join([root, *(os.path.abspath(entry) for entry in sys.path if entry)])
    environment = {
        **child_environment(**SEGMENTER_LOG),
        "PYTHONPATH": path,
        # No memory of a GPU that someone else is using; the segmenter needs none.
        "CUDA_VISIBLE_DEVICES": "",
        "TF_TRT_OP_DENYLIST": ",".join(options.op_denylist),
    }
    environment.pop("TF_TRT_SHOW_DETAILED_REPORT", None)
    if options.max_engines is not None:
        environment["TF_TRT_MAX_ALLOWED_ENGINES"] = str(options.max_engines)
    command = [sys.executable, "-m", "converters.segments.segmenter", json.dumps(job)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,  # Python looks for modules in the working folder first
            stdout=stderr,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"TF-TRT's segmenter did not finish {job['path']} in {_TIMEOUT_S} s."
        ) from None
    return done.returncode


def _last_lines(text: str) -> str:
    """The error that ended the child, without the log lines and frames around it."""
    _, traceback, last = text.rpartition("Traceback (most recent call last):")
    # Without one it may have ended by a failed check of TensorFlow's, which is in the log.
    passed_over = _NO_ERROR if traceback else _NO_END
    lines = [line for line in last.splitlines() if line.strip() and not passed_over.match(line)]
    return " / ".join(lines[-3:]) or "it said nothing"


# The rest runs in the child process.


def main(argument: str) -> None:
    """Does the job that `argument` describes as JSON, and writes the cut GraphDef."""
    job = json.loads(argument)
    load_custom_ops(**job["custom_ops"])
    read = _saved_model if Path(job["path"]).is_dir() else _frozen_graph
    meta = read(job)
    denied = meta.collection_def["train_op"].node_list.value
    # TF-TRT leaves out nodes that are fetched; its own nodes_denylist works that way too.
    denied.extend(job["options"]["node_denylist"])
    cut = _segment(meta, job["options"])
    Path(job["result"]).write_bytes(cut.SerializeToString())


def _saved_model(job: dict[str, Any]) -> Any:
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    model = tf.saved_model.load(job["path"], tags=job["tags"])
    names = sorted(model.signatures)
    name = job["signature"] or (names[0] if len(names) == 1 else None)
    if name not in names:
        raise SystemExit(f"no signature {name!r}; the model has: {', '.join(names) or 'none'}")
    # Frozen as TrtGraphConverterV2 does, so that the nodes are the ones it will see.
    frozen = convert_to_constants.convert_variables_to_constants_v2(model.signatures[name])
    graph_def = frozen.graph.as_graph_def()
    for node in graph_def.node:
        node.device = ""
    meta = tf.compat.v1.train.export_meta_graph(graph_def=graph_def, graph=frozen.graph)
    _fetch(meta, [tensor.name for tensor in frozen.inputs + frozen.outputs])
    return meta


def _frozen_graph(job: dict[str, Any]) -> Any:
    import tensorflow as tf

    from converters.model.graph_file import read_graph_def

    graph_def = read_graph_def(Path(job["path"]))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    meta = tf.compat.v1.train.export_meta_graph(
        graph_def=graph.as_graph_def(add_shapes=True), graph=graph
    )
    inputs = [node.name for node in graph_def.node if node.op.startswith("Placeholder")]
    _fetch(meta, [*inputs, *_unread(graph_def)])
    return meta


def _unread(graph_def: Any) -> list[str]:
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    return [
        node.name
        for node in graph_def.node
        if node.name not in read and node.op not in ("Const", "NoOp", "Placeholder")
    ]


def _fetch(meta: Any, names: list[str]) -> None:
    """Tells the graph optimizer what to keep."""
    meta.collection_def["train_op"].node_list.value[:] = names


def _segment(meta: Any, options: dict[str, Any]) -> Any:
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.compiler.tensorrt import trt_convert
    from tensorflow.python.grappler import tf_optimizer

    parameters = trt_convert.TrtConversionParams(
        precision_mode=options["precision"],
        minimum_segment_size=options["minimum_segment_size"],
        # Calibrating would build an engine while cutting.
        use_calibration=False,
    )
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.CopyFrom(
        trt_convert._get_tensorrt_rewriter_config(
            parameters, is_dynamic_op=True, use_implicit_batch=options["implicit_batch"]
        )
    )
    config.graph_options.rewrite_options.min_graph_nodes = -1
    cut = tf_optimizer.OptimizeGraph(config, meta, graph_id=b"tf_graph")
    if any(node.op == ENGINE_OP and not node.input for node in cut.node):
        raise SystemExit("an engine without inputs was cut: constant folding failed")
    return cut


if __name__ == "__main__":
    main(sys.argv[1])
