"""Triton's model repository: a folder for each model, with a configuration and versions."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from tf_nvcodec.deploy.signature import ServedSignature, ServedTensor, read_signature
from tf_nvcodec.deploy.versions import (
    check_delay,
    check_name,
    check_positive,
    new_version,
    versions_of,
    warm_up_videos,
)
from tf_nvcodec.python.engine_batches import largest_batch

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
_CONFIG, _SETTINGS = "config.pbtxt", "deploy.json"
_HERE = Path(__file__).parent


class _Settings(NamedTuple):
    """What all versions of a model share, and its defaults."""

    max_batch: int = 8
    batches: int = 4
    instances: int = 1
    queue_delay: float = 0.0
    timeout: float = 300.0
    max_megabytes: float = 512.0
    python: str = sys.executable


def write_repository(
    model: str | os.PathLike[str],
    repository: str | os.PathLike[str],
    name: str,
    *,
    signature: str = "serving_default",
    version: int | None = None,
    warm_up: Sequence[str | os.PathLike[str]] = (),
    imports: Sequence[str] = ("tf_nvcodec",),
    max_batch: int | None = None,
    batches: int | None = None,
    instances: int | None = None,
    queue_delay: float | None = None,
    timeout: float | None = None,
    max_megabytes: float | None = None,
    python: str | None = None,
) -> Path:
    """Adds a version of a model to a repository that `tritonserver` serves.

    The model runs on Triton's Python backend, in a process of its own. One process answers many
    requests at a time. Triton's dynamic batcher makes batches of the requests that wait.

    All versions share the settings from max_batch on. None is what they are now, or the default for
    the first version.

    Args:
      model: The folder of a SavedModel, such as `export_video_model` writes. It is copied.
      repository: The folder for all models; it is made if it does not exist.
      name: What clients call the model.
      signature: The signature to serve. The first dimension of its tensors is the batch.
      version: The version's number; None is one more than the highest there. Triton serves the two
        newest.
      warm_up: Video files to run before the model says that it is ready. The signature must have
        one input, of strings.
      imports: Modules that the process imports before it loads the model, for their ops.
      max_batch: The largest batch, in videos; what the model's engines take, or 8.
      batches: The batches that the process has in work at a time; 4.
      instances: The processes on each GPU, or on the CPU; 1. Each has a copy of the model.
      queue_delay: The milliseconds that a request may wait for others although a thread is free; 0.
      timeout: The seconds that a request may take once it is in work; 300. Then it fails.
      max_megabytes: The largest request, in 10^6 bytes; 512.
      python: The Python that has TensorFlow and the modules; this one. Where it does not exist, it
        is the first python3 on PATH.

    Returns:
      The folder of the version.

    Raises:
      FileNotFoundError: There is no such SavedModel or video.
      FileExistsError: The version is there already.
      ValueError: The signature can't be served, differs from that of the other versions, or an
        argument is out of range.
    """
    check_name(name)
    folder = Path(repository) / name
    given: dict[str, Any] = {
        "max_batch": max_batch,
        "batches": batches,
        "instances": instances,
        "queue_delay": queue_delay,
        "timeout": timeout,
        "max_megabytes": max_megabytes,
        "python": python,
    }
    served = read_signature(model, signature)
    settings = _settings_of(folder)
    if settings is None:
        largest = largest_batch(model, signature, served.inputs[0].name)
        settings = _Settings() if largest is None else _Settings(max_batch=largest)
    settings = settings._replace(
        **{key: value for key, value in given.items() if value is not None}
    )
    numbers = settings._asdict()
    numbers.pop("python")
    check_delay(numbers.pop("queue_delay"))
    check_positive(**numbers)
    videos = warm_up_videos(warm_up, served)
    config = _config(name, served, settings)
    _check_tensors(folder, config)
    number = new_version(folder, version)
    if Path(model).resolve() in [folder.resolve(), *folder.resolve().parents]:
        raise ValueError(
            f"{folder} is inside {os.fspath(model)}, which would be copied into itself"
        )
    Path(repository).mkdir(parents=True, exist_ok=True)
    # A server that polls the repository must not see half a model, nor half a version.
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=_workplace(repository)) as work:
        made = Path(work, name)
        new = made / str(number)
        shutil.copytree(model, new / "model.savedmodel")
        shutil.copy(_HERE / "triton_model.py", new / "model.py")
        shutil.copy(_HERE / "model_process.py", new)
        # Python's folder of this name would change the version's, which a polling server loads
        # again then. This file keeps Python from making it.
        (new / "__pycache__").touch()
        (new / "warm_up").mkdir()
        for place, video in enumerate(videos):
            shutil.copy(video, new / "warm_up" / f"{place:03}{video.suffix}")
        flat = [tensor.name for tensor in served.inputs if not tensor.dims]
        told = {"signature": signature, "imports": list(imports), "flat_inputs": flat}
        (new / "version.json").write_text(json.dumps(told, indent=1) + "\n")
        (made / _CONFIG).write_text(config)
        (made / _SETTINGS).write_text(json.dumps(settings._asdict(), indent=1) + "\n")
        if not folder.exists():
            os.rename(made, folder)
        else:
            os.rename(new, folder / str(number))
            if settings != _settings_of(folder) or not (folder / _CONFIG).exists():
                os.replace(made / _CONFIG, folder / _CONFIG)
                os.replace(made / _SETTINGS, folder / _SETTINGS)
    return folder / str(number)


def _settings_of(folder: Path) -> _Settings | None:
    path = folder / _SETTINGS
    return _Settings(**json.loads(path.read_text())) if path.exists() else None


def _workplace(repository: str | os.PathLike[str]) -> Path:
    """Where to make a model before it is moved into the repository: beside that, for Triton takes
    every folder in it for a model. If that is another file system, there is only the repository."""
    folder = Path(repository).resolve()
    beside = folder.parent
    if os.access(beside, os.W_OK) and beside.stat().st_dev == folder.stat().st_dev:
        return beside
    return folder


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


def _config(name: str, served: ServedSignature, settings: _Settings) -> str:
    delay = f" max_queue_delay_microseconds: {round(settings.queue_delay * 1000)} "
    parameters = {
        "batches": str(settings.batches),
        "max_bytes": str(round(settings.max_megabytes * 1e6)),
        "python": settings.python,
        "timeout": f"{settings.timeout:g}",
    }
    told = [
        f'parameters {{ key: "{key}" value: {{ string_value: {json.dumps(value)} }} }}'
        for key, value in parameters.items()
    ]
    # No reshape: Triton 2.51 crashes on an empty batch of an input that has one.
    inputs = [_tensor(each, " dims: [ 1 ]") for each in served.inputs]
    outputs = [_tensor(each, " dims: [ 1 ] reshape: { shape: [ ] }") for each in served.outputs]
    return "\n".join(
        [
            f"name: {json.dumps(name)}",
            'backend: "python"',
            f"max_batch_size: {settings.max_batch}",
            "input [",
            ",\n".join(inputs),
            "]",
            "output [",
            ",\n".join(outputs),
            "]",
            f"dynamic_batching {{{delay if settings.queue_delay else ' '}}}",
            f"instance_group [ {{ count: {settings.instances} }} ]",
            "version_policy { latest { num_versions: 2 } }",
            *told,
            "",
        ]
    )


def _tensor(tensor: ServedTensor, flat: str) -> str:
    """Describes an input or output; `flat` is for one that has no dimension beside the batch, which
    Triton wants."""
    if tensor.dtype not in _TYPES:
        raise ValueError(f"{tensor.name!r} is {tensor.dtype.name}, which Triton does not have")
    dims = ", ".join(str(-1 if dim is None else dim) for dim in tensor.dims)
    shape = f" dims: [ {dims} ]" if tensor.dims else flat
    return f"  {{ name: {json.dumps(tensor.name)} data_type: TYPE_{_TYPES[tensor.dtype]}{shape} }}"
