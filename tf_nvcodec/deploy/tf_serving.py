"""The folder that TensorFlow Serving loads: models, warm-up requests and configurations."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from tf_nvcodec.deploy.signature import read_signature
from tf_nvcodec.deploy.versions import (
    check_delay,
    check_name,
    check_positive,
    new_version,
    warm_up_videos,
)
from tf_nvcodec.python.engine_batches import largest_batch

MODELS_CONFIG = "models.config"
BATCHING = "batching_parameters.txt"
# By tensorflow_serving/servables/tensorflow/saved_model_warmup_util.h.
_WARM_UP = os.path.join("assets.extra", "tf_serving_warmup_requests")
_MOST_REQUESTS = 1000


def write_servable(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    name: str,
    *,
    signature: str = "serving_default",
    version: int | None = None,
    warm_up: Sequence[str | os.PathLike[str]] = (),
    max_batch: int | None = None,
    batches: int | None = None,
    queue_delay: float | None = None,
    base_path: str | None = None,
) -> Path:
    """Adds a version of a model to a folder that `tensorflow_model_server` serves.

    The server must have tf_nvcodec's ops linked in; docs/deploy.md says how.

    Args:
      model: The folder of a SavedModel, such as `export_video_model` writes. It is copied.
      folder: The folder for all models. The server's configurations are written there, too.
      name: What clients call the model.
      signature: The signature that the warm-up requests call.
      version: The version's number; None is one more than the highest there. The server keeps the
        two newest.
      warm_up: Video files to run before the version is served. The signature must have one input,
        of strings.
      max_batch: The largest batch, in videos. This and the next two are for all models of the
        folder. If all three are None, they stay as they are; at first, they are what the model's
        engines take or 8, 4 and 0.
      batches: The batches in work at a time.
      queue_delay: The milliseconds that a request may wait for others although a thread is free.
      base_path: Where the server sees `folder`, such as "/models" in a container. None is where it
        sees the other models, or the folder's absolute path.

    Returns:
      The folder of the version.

    Raises:
      FileNotFoundError: There is no such SavedModel or video.
      FileExistsError: The version is there already.
      ModuleNotFoundError: The package tensorflow-serving-api is missing.
      ValueError: The signature can't be served, or an argument is out of range.
    """
    _need_api()
    check_name(name)
    keeps = max_batch is None and batches is None and queue_delay is None
    served = read_signature(model, signature)
    if max_batch is None:
        max_batch = largest_batch(model, signature, served.inputs[0].name) or 8
    batching = (max_batch, 4 if batches is None else batches, queue_delay or 0.0)
    check_positive(max_batch=max_batch, batches=batching[1])
    check_delay(batching[2])
    if len(warm_up) > _MOST_REQUESTS:
        raise ValueError(f"TensorFlow Serving takes at most {_MOST_REQUESTS} warm-up requests")
    requests = [
        _prediction_log(name, signature, served.inputs[0].name, video.read_bytes())
        for video in warm_up_videos(warm_up, served)
    ]
    root = Path(folder)
    versions = root / name
    versions.mkdir(parents=True, exist_ok=True)
    number = new_version(versions, version)
    models = _models(root, name, base_path)
    # The server looks for new versions every second and must not see half of one.
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=root) as work:
        made = Path(work, "model")
        shutil.copytree(model, made)
        if requests:
            (made / _WARM_UP).parent.mkdir(exist_ok=True)
            with tf.io.TFRecordWriter(str(made / _WARM_UP)) as writer:
                for request in requests:
                    writer.write(request)
        os.rename(made, versions / str(number))
    _replace(root / MODELS_CONFIG, models)
    if not (keeps and (root / BATCHING).exists()):
        _replace(root / BATCHING, _batching(*batching))
    return versions / str(number)


def _prediction_log(name: str, signature: str, argument: str, content: bytes) -> bytes:
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    request.inputs[argument].CopyFrom(tf.make_tensor_proto([content], tf.string))
    log = prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )
    return bytes(log.SerializeToString())


def _models(root: Path, name: str, base_path: str | None) -> str:
    """The configuration of all models of the folder."""
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    server = model_server_config_pb2.ModelServerConfig()
    if (root / MODELS_CONFIG).exists():
        try:
            text_format.Parse((root / MODELS_CONFIG).read_text(), server)
        except text_format.ParseError as error:
            raise ValueError(
                f"{root / MODELS_CONFIG} is no configuration of models: {error}. Mend or remove it"
            ) from None
    models = server.model_config_list.config
    if base_path is None:
        others = [os.path.dirname(each.base_path) for each in models]
        base_path = others[0] if others else os.path.abspath(root)
    model = next((each for each in models if each.name == name), None) or models.add()
    model.name = name
    model.base_path = f"{base_path.rstrip('/')}/{name}"
    model.model_platform = "tensorflow"
    model.model_version_policy.latest.num_versions = 2
    return str(text_format.MessageToString(server))


def _batching(max_batch: int, batches: int, queue_delay: float) -> str:
    """The message BatchingParameters of tensorflow_serving, which its Python package lacks."""
    # Without allowed_batch_sizes a batch is not padded: padding would be decoded, too.
    lines = [
        f"max_batch_size {{ value: {max_batch} }}",
        f"batch_timeout_micros {{ value: {round(queue_delay * 1000)} }}",
        "max_enqueued_batches { value: 100 }",
        f"num_batch_threads {{ value: {batches} }}",
    ]
    return "\n".join(lines) + "\n"


def _need_api() -> None:
    try:
        import tensorflow_serving  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the package tensorflow-serving-api is missing: pip install "
            f"tensorflow-serving-api=={tf.__version__}",
            name=error.name,
        ) from None


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    os.replace(new, path)
