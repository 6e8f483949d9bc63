"""Triton's model repository: a folder for each model, with a configuration and versions."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import tensorflow as tf

from tf_nvcodec.deploy.signature import ServedTensor, read_signature
from tf_nvcodec.deploy.versions import (
    check_delay,
    check_name,
    check_positive,
    new_version,
    versions_of,
    warm_up_videos,
)

# The names of dtypes in Triton's configuration. The model's process casts bfloat16.
_TYPES = {
    tf.bool: "BOOL",
    tf.uint8: "UINT8",
    tf.uint16: "UINT16",
    tf.uint32: "UINT32",
    tf.uint64: "UINT64",
    tf.int8: "INT8",
    tf.int16: "INT16",
    tf.int32: "INT32",
    tf.int64: "INT64",
    tf.float16: "FP16",
    tf.bfloat16: "FP32",
    tf.float32: "FP32",
    tf.float64: "FP64",
    tf.string: "STRING",
}
_CONFIG = "config.pbtxt"
_HERE = Path(__file__).parent


def write_repository(
    model: str | os.PathLike[str],
    repository: str | os.PathLike[str],
    name: str,
    *,
    signature: str = "serving_default",
    version: int | None = None,
    max_batch: int = 8,
    batches: int = 4,
    instances: int = 1,
    queue_delay: float = 0.0,
    timeout: float = 300.0,
    max_megabytes: float = 512.0,
    warm_up: Sequence[str | os.PathLike[str]] = (),
    imports: Sequence[str] = ("tf_nvcodec",),
    python: str = sys.executable,
) -> Path:
    """Adds a version of a model to a repository that `tritonserver` serves.

    The model runs on Triton's Python backend, in a process of its own. One process answers many
    requests at a time. Triton's dynamic batcher makes batches of the requests that wait.

    Args:
      model: The folder of a SavedModel, such as `export_video_model` writes. It is copied.
      repository: The folder for all models; it is made if it does not exist.
      name: What clients call the model.
      signature: The signature to serve. The first dimension of its tensors is the batch.
      version: The version's number; None is one more than the highest there. Triton serves the two
        newest.
      max_batch: The largest batch, in videos.
      batches: The batches that the process has in work at a time.
      instances: The processes on each GPU, or on the CPU. Each has a copy of the model.
      queue_delay: The milliseconds that a request may wait for others although a thread is free.
      timeout: The seconds that a batch may take. Then its requests fail.
      max_megabytes: The largest request, in 10^6 bytes.
      warm_up: Video files to run before the model says that it is ready. The signature must have
        one input, of strings.
      imports: Modules that the process imports before it loads the model, for their ops.
      python: The Python that has TensorFlow and these modules. Where it does not exist, it is
        the first python3 on PATH.

    Returns:
      The folder of the version.

    Raises:
      FileNotFoundError: There is no such SavedModel or video.
      FileExistsError: The version is there already.
      ValueError: The signature can't be served, differs from that of the other versions, or an
        argument is out of range.
    """
    check_name(name)
    check_positive(
        max_batch=max_batch,
        batches=batches,
        instances=instances,
        timeout=timeout,
        max_megabytes=max_megabytes,
    )
    check_delay(queue_delay)
    served = read_signature(model, signature)
    videos = warm_up_videos(warm_up, served)
    config = _config(
        name,
        served.inputs,
        served.outputs,
        max_batch,
        instances,
        queue_delay,
        {
            "signature": signature,
            "batches": str(batches),
            "timeout": f"{timeout:g}",
            "max_bytes": str(round(max_megabytes * 1e6)),
            "imports": " ".join(imports),
            "python": python,
        },
    )
    folder = Path(repository) / name
    folder.mkdir(parents=True, exist_ok=True)
    _check_tensors(folder, config)
    number = new_version(folder, version)
    # A server that polls the repository must not see half a version.
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=repository) as work:
        made = Path(work, str(number))
        made.mkdir()
        shutil.copytree(model, made / "model.savedmodel")
        shutil.copy(_HERE / "triton_model.py", made / "model.py")
        shutil.copy(_HERE / "model_process.py", made)
        (made / "warm_up").mkdir()
        for place, video in enumerate(videos):
            shutil.copy(video, made / "warm_up" / f"{place:03}{video.suffix}")
        new_config = Path(work, _CONFIG)
        new_config.write_text(config)
        if not (folder / _CONFIG).exists() or (folder / _CONFIG).read_text() != config:
            os.replace(new_config, folder / _CONFIG)
        os.rename(made, folder / str(number))
    return folder / str(number)


def _check_tensors(folder: Path, config: str) -> None:
    """Raises ValueError if another version has other inputs or outputs: all share one config."""
    path = folder / _CONFIG
    if not path.exists() or not versions_of(folder):
        return
    if _tensor_lines(path.read_text()) != _tensor_lines(config):
        raise ValueError(
            f"the versions in {folder} have other inputs or outputs, and all versions of a model "
            "share one configuration: choose another name"
        )


def _tensor_lines(config: str) -> list[str]:
    return [line for line in config.splitlines() if line.startswith("  { name:")]


def _config(
    name: str,
    inputs: Iterable[ServedTensor],
    outputs: Iterable[ServedTensor],
    max_batch: int,
    instances: int,
    queue_delay: float,
    parameters: dict[str, str],
) -> str:
    delay = f" max_queue_delay_microseconds: {round(queue_delay * 1000)} " if queue_delay else " "
    told = [
        f'parameters {{ key: "{key}" value: {{ string_value: {json.dumps(value)} }} }}'
        for key, value in sorted(parameters.items())
    ]
    return "\n".join(
        [
            f"name: {json.dumps(name)}",
            'backend: "python"',
            f"max_batch_size: {max_batch}",
            "input [",
            ",\n".join(map(_tensor, inputs)),
            "]",
            "output [",
            ",\n".join(map(_tensor, outputs)),
            "]",
            f"dynamic_batching {{{delay}}}",
            f"instance_group [ {{ count: {instances} }} ]",
            "version_policy { latest { num_versions: 2 } }",
            *told,
            "",
        ]
    )


def _tensor(tensor: ServedTensor) -> str:
    if tensor.dtype not in _TYPES:
        raise ValueError(f"{tensor.name!r} is {tensor.dtype.name}, which Triton does not have")
    kind = f"  {{ name: {json.dumps(tensor.name)} data_type: TYPE_{_TYPES[tensor.dtype]}"
    if not tensor.dims:
        # Triton wants a dimension beside the batch.
        return f"{kind} dims: [ 1 ] reshape: {{ shape: [ ] }} }}"
    dims = ", ".join(str(-1 if dim is None else dim) for dim in tensor.dims)
    return f"{kind} dims: [ {dims} ] }}"
