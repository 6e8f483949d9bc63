"""The job of the child process that finds out what a model's engines get for a request.

The shapes of an engine inside a model depend on what runs before it, and some engines take shapes
as values. So TensorFlow computes what goes into each engine, with the engines before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from converters.checks.runnable import load_error, require_same_gpu
from converters.inputs.batch_files import read_batch, write_batch
from converters.measure.model_requests import request_error
from converters.model.model_source import freeze
from converters.model.trt_graph import ENGINE_OP, load_graph
from converters.plans.plan_compare import INPUT


def write_engine_inputs(
    path: str, tags: Sequence[str] | None, signature: str, batch: str, folder: str
) -> list[dict[str, str]]:
    """Runs the signature on the batch of a file, up to its engines.

    Returns:
      for each engine that a request runs, in the graph's order: its canonical name as "engine", and
      the file of its inputs by binding as "batch". Engines in loops and branches are not found.

    Raises:
      UnavailableError, PlanError: the engines cannot run here.
      EngineError: an engine does not serve what it gets, so that the next one gets nothing.
      MeasureError: the request fails.
    """
    import tensorflow as tf

    loaded = load_graph(path, tags)
    require_same_gpu(loaded)
    tf.config.set_soft_device_placement(True)
    try:
        model = tf.saved_model.load(path, list(loaded.tags))
    except Exception as error:
        raise load_error(path, error) from error
    frozen = freeze(model.signatures[signature])
    engines = [op for op in frozen.graph.get_operations() if op.type == ENGINE_OP]
    if not engines:
        return []
    arrays = read_batch(Path(batch))
    feeds, values = [], []
    for name, spec in model.signatures[signature].structured_input_signature[1].items():
        feeds.append(frozen.graph.get_tensor_by_name(f"{spec.name}:0"))
        values.append(tf.constant(arrays[name]))
    wanted = [tensor for op in engines for tensor in op.inputs]
    try:
        # A fetch that is given back as it is would be no output of a function.
        with frozen.graph.as_default():
            wanted = [tf.identity(tensor) for tensor in wanted]
        found = iter([value.numpy() for value in frozen.prune(feeds, wanted)(*values)])
    except tf.errors.OpError as error:
        raise request_error(error, arrays) from error
    written = []
    for number, op in enumerate(engines):
        own = {f"{INPUT}{i}": next(found) for i in range(len(op.inputs))}
        file = Path(folder) / f"engine{number}.batch"
        write_batch(file, own, "Inputs of engines are kept there: set TMPDIR to a larger folder")
        written.append({"engine": op.name.rpartition("/")[2], "batch": str(file)})
    return written
