"""A SavedModel that takes the bytes of videos: decoding and a network in one graph."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from typing_extensions import TypeAlias, Unpack

from tf_nvcodec.python.decode import TensorLike
from tf_nvcodec.python.decode_clips import ClipOptions, decode_clips
from tf_nvcodec.python.engine_batches import BATCHES_FILE, EngineBatches
from tf_nvcodec.python.export_check import differences_in_a_fresh_process
from tf_nvcodec.python.export_network import Network, Outputs, network_from

Strings: TypeAlias = Sequence[str]

# Outputs of the exported model that the network's own must not be called, without and with labels.
_RESERVED, _RESERVED_FOR_LABELS = ("status", "pts"), ("labels", "scores")
_AGGREGATES = ("none", "mean", "max")
# Frames of a video that a network of images sees, and of a clip if the network does not say.
_IMAGES, _CLIP = 16, 16
# With batch_requests: the batches in work at a time, those that may wait before calls fail, and the
# videos of a call, which is split.
_BATCHES, _WAITING_BATCHES, _LARGEST_CALL = 4, 1000, 1 << 20


class ExportedModel(NamedTuple):
    """What `export_video_model` has written.

    Attributes:
      folder: The SavedModel.
      size: (height, width) of the frames that the network gets.
      clip_length: The frames of a clip, T.
      clips_per_video: The clips of a video, K.
      batch_requests: The videos of calls at the same time that run as one batch; 0 is none.
      outputs: The shapes and dtypes of the outputs of "serving_default" by name.
      differences: With `check`, how far each output of numbers is at most from the reference;
        else None.
    """

    folder: str
    size: tuple[int, int]
    clip_length: int
    clips_per_video: int
    batch_requests: int
    outputs: dict[str, tf.TensorSpec]
    differences: dict[str, float] | None


def export_video_model(
    network: Any,
    folder: str | os.PathLike[str],
    *,
    takes: tf.TensorSpec | None = None,
    signature: str = "serving_default",
    clip_length: int | None = None,
    stride: int | float = 1,
    fps: float | None = None,
    clips_per_video: int | None = None,
    sampling: str = "uniform",
    pad: str = "repeat",
    size: TensorLike | None = None,
    center_crop: float | None = None,
    value_range: tuple[float, float] | None = None,
    aggregate: str = "mean",
    labels: str | os.PathLike[str] | Strings | None = None,
    top_k: int | None = None,
    label_output: str | None = None,
    batch_requests: int = 0,
    network_batches: Sequence[int] | None = None,
    check: Sequence[bytes] | None = None,
    overwrite: bool = False,
    **options: Unpack[ClipOptions],
) -> ExportedModel:
    """Saves a model that decodes videos and runs a network on their frames.

    The SavedModel has two signatures:

    - "serving_default" takes `contents`, string [B], the bytes of B video files. It returns the
      network's outputs for each video, `pts` (float64, seconds) and `status` (string [B]). A video
      that can't be decoded has zeros and a status that says why; it does not disturb the others.
    - "frames" takes frames as the network does and returns the network's outputs.

    A process that loads the model needs `import tf_nvcodec` first. Where there is a GPU with NVDEC,
    the frames are decoded on it and stay in its memory.

    Args:
      network: The folder of a SavedModel, also one with TensorRT engines; a `.keras` file; a Keras
        model; a loaded SavedModel; a tf.Module or a function of one tensor. Its input is a batch of
        images [N, H, W, C] or [N, C, H, W], or of clips [N, T, H, W, C], [N, T, C, H, W] or
        [N, C, T, H, W]. Each output has the dimension N first.
      folder: Where the SavedModel goes.
      takes: Shape and dtype of the input, if the network does not say.
      signature: The signature of a SavedModel to take.
      clip_length: The frames of a clip. None is what the network's input says, else 16; 1 for a
        network of images.
      stride: As for `decode_clips`, and so are fps, sampling and pad.
      fps: See stride.
      clips_per_video: The clips of a video; None is one clip, or 16 frames for a network of images.
      sampling: See stride.
      pad: See stride.
      size: (height, width) of the frames. None is what the network's input says.
      center_crop: As for `decode_clips`.
      value_range: The values of black and white in the frames, for a network with a float input.
        None is (0, 1) unless mean and std say otherwise; (0, 255) and (-1, 1) are common.
      aggregate: What becomes of the network's outputs for the frames or clips of a video: "mean" or
        "max" over those that are not padding, or "none", which gives all, [B, K, ...].
      labels: The names of the network's classes: a text file with one name a line, which becomes an
        asset of the model, or a list. The model then also returns `labels` (string [B, top_k]) and
        `scores` [B, top_k], the best first.
      top_k: The number of labels. None is 5, or all if there are fewer.
      label_output: The output whose last dimension is the classes. None is the only one.
      batch_requests: If it is not 0, calls of "serving_default" at the same time are run as one
        batch of up to so many videos, by TensorFlow's BatchFunction; larger calls are split. It
        helps a network that is faster with large batches and slower than decoding, in a server that
        has no batcher of its own. Such a call can't be cancelled, and an error is that of all calls
        of its batch.
      network_batches: The batches that the network takes, in images or clips. A batch is filled
        with zeros up to the next of these sizes, and a larger one is divided. None is what its
        engines were built for, if `network` is a folder that `trt-convert convert` has written; an
        empty list is any.
      check: The bytes of video files, in a list. A fresh process loads the model and runs it on
        them. Its answers must be those of decoding and network one after the other in this process.
      overwrite: Replace what is in the folder.
      **options: The other options of `decode_clips`, such as mean, std, pixel_format="bgr",
        resize_method or backend.

    Returns:
      An `ExportedModel`.

    Raises:
      FileNotFoundError: There is no such SavedModel or file.
      FileExistsError: The folder is not empty, or a file.
      TypeError: `network` is none of the above, or its input is no batch of images or clips, or
        `check` is no list of bytes.
      ValueError: The network's input and the arguments contradict each other, something is not
        known that neither tells, or an argument is none of its strings. Or the network uses
        something, such as a table or an engine, that it does not keep as an attribute.
      RuntimeError: The model does not load in a fresh process, or does not pass `check`, or no
        video of `check` can be decoded.
    """
    if aggregate not in _AGGREGATES:
        raise ValueError(f"aggregate is {aggregate!r}; it must be one of: {', '.join(_AGGREGATES)}")
    for name in ("dtype", "layout"):
        if name in options:
            raise TypeError(f"{name} follows from the network's input, which `takes` describes")
    target = os.fspath(folder)
    if batch_requests < 0:
        raise ValueError(f"batch_requests must not be negative, got {batch_requests}")
    if not overwrite and tf.io.gfile.isdir(target) and tf.io.gfile.listdir(target):
        raise FileExistsError(f"{target} is not empty: pass overwrite=True to replace it")
    if "://" not in target:
        target = _replaceable(target)
    videos = _videos(check)
    taken = network_from(network, takes, signature)
    frame = taken.frame
    height, width = _size(size, frame.height, frame.width)
    length, count = _length(clip_length, taken), clips_per_video
    if count is None:
        # Frames in the middle or at the beginning are neighbours: one clip.
        neighbours = sampling in ("center", "start")
        count = _IMAGES if taken.of_images and not neighbours else 1
        if taken.of_images and neighbours and clip_length is None:
            length = _IMAGES
    how: dict[str, Any] = {
        **options,
        "clip_length": length,
        "stride": stride,
        "fps": fps,
        "clips_per_video": count,
        "sampling": sampling,
        "pad": pad,
        "size": (height, width),
        "center_crop": center_crop,
        "layout": "tchw" if frame.channels_first else "thwc",
        **_values(frame, value_range, options),
    }
    _try(how)
    batches = _batches(network_batches, taken.batches)
    # Images or clips of a video.
    items = count * length if taken.of_images else count
    model = _VideoModel(taken, how, aggregate, batches, batch_requests)
    if labels is not None:
        model.name_classes(labels, top_k, label_output)
    model.keep_variables()
    outputs = {
        name: tf.TensorSpec(tensor.shape, tensor.dtype, name)
        for name, tensor in model.serve.get_concrete_function().structured_outputs.items()
    }
    differences = None
    with _complete_folder(target, network, overwrite) as unfinished:
        signatures = {"serving_default": model.serve, "frames": model.run}
        try:
            tf.saved_model.save(model, unfinished, signatures=signatures)
        except AssertionError as error:  # an "untracked" resource
            raise ValueError(
                "the network uses something that it does not keep, such as a lookup table of a "
                "loaded model: pass a tf.Module that keeps the model as an attribute, instead of a "
                "function that only calls it"
            ) from error
        fitting = max(batches.largest // items, 1) if batches else 0
        _write_largest_batch(unfinished, batch_requests or fitting)
        if videos:
            reference = model.one_by_one(videos)
            _require_decoded(reference["status"])
            differences = differences_in_a_fresh_process(unfinished, videos, reference)
    return ExportedModel(
        os.fspath(folder), (height, width), length, count, batch_requests, outputs, differences
    )


def _videos(check: Sequence[bytes] | None) -> list[bytes]:
    """Returns the videos of `check`, also of strings in tensors."""
    if isinstance(check, (bytes, str)):
        raise TypeError(f"check takes a list of videos' bytes, not {type(check).__name__}")
    plain = [
        each.numpy() if isinstance(each, tf.Tensor) else each
        for each in (() if check is None else check)
    ]
    for place, each in enumerate(plain):
        if not isinstance(each, bytes):
            raise TypeError(
                f"check takes the bytes of videos; element {place} is {type(each).__name__}"
            )
    return plain


def _require_decoded(status: tf.Tensor) -> None:
    """Raises if the videos give the network nothing to compare."""
    said = status.numpy()
    if all(said):
        raise RuntimeError(f"no video of check can be decoded; the first: {said[0].decode()}")


def _batches(given: Sequence[int] | None, known: EngineBatches | None) -> EngineBatches | None:
    if given is None:
        return known
    sizes = sorted({int(size) for size in given})
    if sizes and sizes[0] < 1:
        raise ValueError(f"network_batches must be positive, got {sizes[0]}")
    return EngineBatches(tuple(sizes), False) if sizes else None


def _write_largest_batch(folder: str, videos: int) -> None:
    """Tells `tf-nvcodec deploy` which batches suit the model."""
    if videos:
        path = os.path.join(folder, BATCHES_FILE)
        tf.io.gfile.makedirs(os.path.dirname(path))
        with tf.io.gfile.GFile(path, "w") as file:
            file.write(json.dumps({"largest_batch": videos}) + "\n")


def _try(how: Mapping[str, Any]) -> None:
    """Raises the errors of options that do not fit each other before anything is written."""
    try:
        decode_clips(tf.constant([], tf.string), **how)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    except tf.errors.FailedPreconditionError:
        pass  # the model may be for another machine, which has the GPU


@contextlib.contextmanager
def _complete_folder(target: str, network: Any, overwrite: bool) -> Iterator[str]:
    """Gives a folder to write to, which takes the place of `target` at the end of the block. If the
    block fails, `target` stays as it was."""
    if isinstance(network, (str, os.PathLike)) and _is_in(os.fspath(network), target):
        raise ValueError(f"{target} holds the network itself: name another folder")
    if "://" in target:  # there is no renaming in an object store
        with tempfile.TemporaryDirectory() as work:
            yield work
            if tf.io.gfile.exists(target):
                tf.io.gfile.rmtree(target)
            _copy_folder(work, target)
        return
    parent, name = os.path.split(os.path.abspath(target))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=parent) as work:
        unfinished = os.path.join(work, name)
        yield unfinished
        if overwrite and os.path.isdir(target):
            shutil.rmtree(target)
        os.rename(unfinished, target)  # an empty folder gives way, one that was filled since not


def _replaceable(target: str) -> str:
    """Returns the local folder that is to be written, where a link points. Raises if there is
    something that a folder can't replace."""
    real = os.path.realpath(target)
    if os.path.lexists(real) and not os.path.isdir(real):
        raise FileExistsError(f"{target} is a file: name a new folder")
    if os.path.ismount(real):
        raise ValueError(f"{target} is a mount point, which can't be replaced: name a folder in it")
    return real


def _is_in(path: str, folder: str) -> bool:
    """Whether the path is the folder or in it."""
    if "://" not in path and "://" not in folder:
        path, folder = os.path.realpath(path), os.path.realpath(folder)
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _copy_folder(source: str, target: str) -> None:
    for folder, _, names in os.walk(source):
        relative = os.path.relpath(folder, source)
        place = target if relative == "." else f"{target.rstrip('/')}/{relative}"
        tf.io.gfile.makedirs(place)
        for name in names:
            tf.io.gfile.copy(os.path.join(folder, name), f"{place}/{name}", overwrite=True)


class _VideoModel(tf.Module):
    """The exported functions and what they use."""

    def __init__(
        self,
        network: Network,
        how: Mapping[str, Any],
        aggregate: str,
        batches: EngineBatches | None,
        together: int,
    ) -> None:
        super().__init__()
        self._call = network.call
        self._kept = network.kept  # its variables and engines
        self._frame = network.frame
        self._of_images = network.of_images
        self._how = dict(how)
        self._aggregate = aggregate
        self._batches = batches
        self._names: tf.lookup.StaticHashTable | None = None
        clip = [] if network.of_images else [self._how["clip_length"]]
        frame = network.frame.shape(self._how["size"], clip)
        self.run = tf.function(
            self._run,
            input_signature=[tf.TensorSpec([None, *frame], network.frame.dtype, "frames")],
            autograph=False,
        )
        self.serve = tf.function(
            self._in_batches(together) if together else self._serve,
            input_signature=[tf.TensorSpec([None], tf.string, "contents")],
            autograph=False,
        )

    def keep_variables(self) -> None:
        """Saves the variables of a network that is a function, which has no attributes."""
        self._held = list(self.run.get_concrete_function().variables)

    def _run(self, frames: tf.Tensor) -> Outputs:
        outputs = self._call(frames)
        _require_free(outputs, _RESERVED)
        return outputs

    def _run_fitting(self, frames: tf.Tensor) -> Outputs:
        """Runs the network on batches of sizes that it has engines for."""
        if self._batches is None:
            return self._run(frames)
        largest = self._batches.largest
        with tf.device("/CPU:0"):  # where shapes are, so that no kernel waits for the GPU
            count = tf.shape(frames)[0]
            # Also for no frames: the outputs need their shapes.
            parts = tf.maximum((count + largest - 1) // largest, 1)
        specs = self.run.get_concrete_function().structured_outputs
        results = {
            name: tf.TensorArray(
                spec.dtype, parts, element_shape=spec.shape, infer_shape=False, name=name
            )
            for name, spec in specs.items()
        }

        def run(part: tf.Tensor, done: dict[str, tf.TensorArray]) -> Any:
            some = self._run_filled(frames[part * largest : (part + 1) * largest])
            return part + 1, {name: done[name].write(part, some[name]) for name in done}

        _, results = tf.while_loop(lambda part, _: part < parts, run, (0, results))
        return {name: result.concat() for name, result in results.items()}

    def _run_filled(self, frames: tf.Tensor) -> Outputs:
        """Runs the network on a batch that is filled to a size that it has an engine for."""
        assert self._batches is not None
        with tf.device("/CPU:0"):
            count = tf.shape(frames)[0]
            missing = self._batches.filled(count) - count
            paddings = tf.pad(tf.reshape(missing, [1, 1]), [[0, frames.shape.rank - 1], [1, 0]])
        full = tf.ensure_shape(tf.pad(frames, paddings), [None, *frames.shape[1:]])
        outputs = self._run(full)
        return {name: output[:count] for name, output in outputs.items()}

    def _serve(self, contents: tf.Tensor) -> Outputs:
        decoded = decode_clips(contents, **self._how)
        videos = tf.shape(contents)[0]
        frames, mask, pts = decoded.frames, decoded.mask, decoded.pts
        # From here on, a video has M images or clips.
        if self._of_images:
            count = self._how["clips_per_video"] * self._how["clip_length"]
            mask, pts = (tf.reshape(each, [videos, count]) for each in (mask, pts))
            frames = tf.reshape(frames, [videos * count, *frames.shape[3:]])
        else:
            count = self._how["clips_per_video"]
            mask = tf.reduce_any(mask, -1)
            frames = tf.reshape(frames, [videos * count, *frames.shape[2:]])
        outputs = self._run_fitting(self._frame.arranged(frames, self._of_images))
        results = {}
        for name, output in outputs.items():
            shape = tf.concat([[videos, count], tf.shape(output)[1:]], 0)
            by_video = tf.reshape(output, shape)
            if output.shape.rank is not None:
                by_video = tf.ensure_shape(by_video, [None, count, *output.shape[1:]])
            results[name] = _aggregated(name, by_video, mask, self._aggregate)
        if self._names is not None:
            results.update(self._best(results, mask))
        return {**results, "pts": pts, "status": decoded.status}

    def _in_batches(self, videos: int) -> Callable[[tf.Tensor], Outputs]:
        """Returns `_serve` for calls of several threads, which run together."""
        batched = tf.nondifferentiable_batch_function(
            num_batch_threads=_BATCHES,
            max_batch_size=_LARGEST_CALL,
            # All sizes, because a batch is padded to the next of these: with videos to decode.
            allowed_batch_sizes=list(range(1, videos + 1)),
            batch_timeout_micros=0,
            max_enqueued_batches=_WAITING_BATCHES,
            enable_large_batch_splitting=True,
        )(self._serve)

        def serve(contents: tf.Tensor) -> Outputs:
            specs = tf.function(self._serve, autograph=False).get_concrete_function(
                tf.TensorSpec([None], tf.string)
            )
            shapes = {name: spec.shape for name, spec in specs.structured_outputs.items()}
            # BatchFunction forgets the shapes, and gives [0] for no videos.
            return {
                name: tf.reshape(tensor, [tf.size(contents), *shapes[name][1:]])
                if shapes[name].rank and shapes[name][1:].is_fully_defined()
                else tensor
                for name, tensor in batched(contents).items()
            }

        return serve

    def one_by_one(self, contents: Sequence[bytes]) -> Outputs:
        """Returns what `serve` must return. Each video and each op runs by itself."""
        answers = [self._serve(tf.constant([video], tf.string)) for video in contents]
        return {name: tf.concat([one[name] for one in answers], 0) for name in answers[0]}

    def name_classes(
        self, labels: str | os.PathLike[str] | Strings, top_k: int | None, output: str | None
    ) -> None:
        """Makes the model return the names of the best classes."""
        outputs = self.run.get_concrete_function().structured_outputs
        _require_free(outputs, _RESERVED_FOR_LABELS)
        if output is None and len(outputs) != 1:
            raise ValueError(f"label_output must name one of the outputs: {', '.join(outputs)}")
        if output is not None and output not in outputs:
            raise ValueError(f"there is no output {output!r}, only: {', '.join(outputs)}")
        self._label_output = next(iter(outputs)) if output is None else output
        shape = outputs[self._label_output].shape
        if shape.rank is not None and shape.rank < 2:
            raise ValueError(
                f"output {self._label_output!r} has the shape {shape}, no dimension of classes"
            )
        classes = None if shape.rank is None else shape[-1]
        if isinstance(labels, (str, os.PathLike)):
            if not tf.io.gfile.exists(os.fspath(labels)):
                raise FileNotFoundError(f"{os.fspath(labels)}: no such file")
            self._labels = tf.saved_model.Asset(os.fspath(labels))
            with tf.io.gfile.GFile(os.fspath(labels), "rb") as file:
                count = len(file.read().rstrip(b"\n").split(b"\n"))
            names: Any = tf.lookup.TextFileInitializer(
                self._labels.asset_path,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
            )
        else:
            count = len(labels)
            names = tf.lookup.KeyValueTensorInitializer(
                tf.range(count, dtype=tf.int64), tf.constant(list(labels), tf.string)
            )
        if classes is not None and classes != count:
            raise ValueError(
                f"there are {count} labels, but output {self._label_output!r} has {classes} "
                "classes: pass one label for each"
            )
        if top_k is None:
            top_k = min(5, count)
        if not 1 <= top_k <= count:
            raise ValueError(f"top_k must be from 1 to {count}, the number of labels; got {top_k}")
        self._top_k = top_k
        self._names = tf.lookup.StaticHashTable(names, default_value="")

    def _best(self, results: Outputs, mask: tf.Tensor) -> Outputs:
        assert self._names is not None
        best = tf.math.top_k(results[self._label_output], self._top_k)
        names = self._names.lookup(tf.cast(best.indices, tf.int64))
        counts = mask if self._aggregate == "none" else tf.reduce_any(mask, 1)
        ones = tf.ones([tf.rank(names) - tf.rank(counts)], tf.int32)
        counts = tf.reshape(counts, tf.concat([tf.shape(counts), ones], 0))
        return {"labels": tf.where(counts, names, ""), "scores": best.values}


def _require_free(outputs: Mapping[str, Any], names: Strings) -> None:
    taken = sorted(set(outputs) & set(names))
    if taken:
        raise ValueError(
            f"the network has an output {taken[0]!r}, which the exported model uses itself: wrap "
            "the network in a tf.Module that keeps it as an attribute, and whose call returns a "
            "dictionary with other names"
        )


def _aggregated(name: str, outputs: tf.Tensor, mask: tf.Tensor, how: str) -> tf.Tensor:
    """Returns one output of a video for its outputs [B, M, ...], of which `mask` [B, M] counts."""
    ones = tf.ones([tf.rank(outputs) - 2], tf.int32)
    mask = tf.reshape(mask, tf.concat([tf.shape(mask), ones], 0))
    if how == "none":
        return tf.where(mask, outputs, tf.zeros_like(outputs))
    if not outputs.dtype.is_floating:
        raise ValueError(
            f"aggregate={how!r} needs floats, but output {name!r} is {outputs.dtype.name}: pass "
            "aggregate='none'"
        )
    if how == "max":
        largest = tf.reduce_max(tf.where(mask, outputs, outputs.dtype.min), 1)
        return tf.where(tf.reduce_any(mask, 1), largest, tf.zeros([], outputs.dtype))
    # Halves would lose digits in the sum.
    exact = tf.float64 if outputs.dtype == tf.float64 else tf.float32
    total = tf.reduce_sum(tf.where(mask, tf.cast(outputs, exact), tf.zeros([], exact)), 1)
    counted = tf.maximum(tf.reduce_sum(tf.cast(mask, exact), 1), 1)
    return tf.cast(total / counted, outputs.dtype)


def _size(size: TensorLike | None, height: int | None, width: int | None) -> tuple[int, int]:
    if size is None:
        if height is None or width is None:
            raise ValueError("the network takes frames of any size: pass size=(height, width)")
        return height, width
    wanted = tuple(int(side) for side in size)
    if len(wanted) != 2:
        raise ValueError(f"size must be (height, width), got {wanted}")
    for side, known in zip(wanted, (height, width)):
        if known is not None and side != known:
            raise ValueError(f"size is {wanted}, but the network takes frames of {(height, width)}")
    return wanted[0], wanted[1]


def _length(clip_length: int | None, network: Network) -> int:
    if network.of_images:
        return 1 if clip_length is None else clip_length
    if clip_length is None:
        return network.length or _CLIP
    if network.length not in (None, clip_length):
        raise ValueError(
            f"clip_length is {clip_length}, but the network takes clips of {network.length} frames"
        )
    return clip_length


def _values(
    frame: Any, value_range: tuple[float, float] | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns dtype, pixel_format, mean and std of the decode."""
    chosen: dict[str, Any] = {"dtype": frame.decoded_dtype}
    fitting = ("gray",) if frame.channels == 1 else ("rgb", "bgr")
    given = options.get("pixel_format")
    if given is not None and given not in fitting:
        raise ValueError(
            f"pixel_format is {given!r}, but the network takes {frame.channels} channels: "
            f"{' or '.join(fitting)}"
        )
    chosen["pixel_format"] = given or fitting[0]
    if value_range is None:
        return chosen
    if options.get("mean") is not None or options.get("std") is not None:
        raise ValueError("value_range and mean / std both set the values of the frames: pass one")
    low, high = (float(value) for value in value_range)
    if not low < high:
        raise ValueError(f"value_range must be (black, white), black < white; got {value_range}")
    if not frame.decoded_dtype.is_floating:
        raise ValueError(f"the network takes {frame.dtype.name}, so value_range has no meaning")
    return {**chosen, "mean": -low / (high - low), "std": 1 / (high - low)}
