"""Exported models: bytes in, the network's outputs for each video out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips

import tf_nvcodec as nvc
from tf_nvcodec.python.engine_batches import engine_batches, largest_batch
from tf_nvcodec.python.export_check import differences_in_a_fresh_process

GARBAGE = b"this is no video"
NAMES = ["h264.mp4", "hevc_open_gop.mkv", "av1.mp4"]
SIDE = 24


class Colors(tf.Module):
    """A network of images: a linear layer on the mean colour, and the brightest sample."""

    def __init__(self, dtype: tf.DType = tf.float32, shape: Any = (None, SIDE, SIDE, 3)) -> None:
        super().__init__()
        self.weights = tf.Variable(np.arange(15, dtype=np.float32).reshape(3, 5) / 7 - 1)
        self.axes = [2, 3] if shape[-1] not in (1, 3) else [1, 2]
        self.predict = tf.function(self._predict, input_signature=[tf.TensorSpec(shape, dtype)])

    def _predict(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
        frames = tf.cast(frames, tf.float32)
        color = tf.reduce_mean(frames, self.axes)
        return {
            "logits": color @ self.weights[: color.shape[-1]],
            "brightest": tf.reduce_max(frames, [1, 2, 3]),
        }

    @tf.function(input_signature=[tf.TensorSpec([None, SIDE, SIDE, 3])])
    def __call__(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._predict(frames)


class Motion(tf.Module):
    """A network of clips: how much each colour changes from frame to frame."""

    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.run = tf.function(self._run, input_signature=[tf.TensorSpec(shape)])
        self.time = shape.index(4)

    def _run(self, clips: tf.Tensor) -> tf.Tensor:
        first = tf.gather(clips, tf.range(3), axis=self.time)
        second = tf.gather(clips, tf.range(1, 4), axis=self.time)
        return tf.reduce_mean(tf.abs(second - first), [1, 2, 3, 4])[:, None]


@pytest.fixture
def videos(clips: Clips) -> list[bytes]:
    return [clips.data(NAMES[0]), GARBAGE, *(clips.data(name) for name in NAMES[1:])]


def serve(folder: Path | str, contents: list[bytes]) -> dict[str, np.ndarray]:
    model = tf.saved_model.load(str(folder))
    answer = model.signatures["serving_default"](contents=tf.constant(contents, tf.string))
    return {name: tensor.numpy() for name, tensor in answer.items()}


def by_hand(contents: list[bytes], network: Callable[[Any], Any], **how: Any) -> list[Any]:
    """Returns the network's outputs for the frames of each video, or None."""
    outputs: list[Any] = []
    for data in contents:
        decoded = nvc.decode_clips([data], size=(SIDE, SIDE), dtype=tf.float32, **how)
        outputs.append(None if decoded.status[0].numpy() else network(decoded.frames[0]))
    return outputs


@pytest.mark.parametrize("aggregate", ["none", "mean", "max"])
def test_a_network_of_images(tmp_path: Path, videos: list[bytes], aggregate: str) -> None:
    network = Colors()
    made = nvc.export_video_model(
        network, tmp_path / "model", clips_per_video=6, aggregate=aggregate, check=videos
    )
    assert (made.size, made.clip_length, made.clips_per_video) == ((SIDE, SIDE), 1, 6)
    answer = serve(made.folder, videos)
    for name, spec in made.outputs.items():
        assert spec.dtype == tf.as_dtype(answer[name].dtype)
        assert spec.shape.is_compatible_with(answer[name].shape)
    assert set(made.outputs) == set(answer) == {"logits", "brightest", "pts", "status"}
    wanted = by_hand(videos, lambda frames: network(frames[:, 0]), clip_length=1, clips_per_video=6)
    combine = {"none": np.asarray, "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)}
    for row, want in enumerate(wanted):
        assert bool(answer["status"][row]) == (want is None)
        for name in ("logits", "brightest"):
            if want is None:
                assert not answer[name][row].any()
                continue
            expected = combine[aggregate](want[name].numpy())
            np.testing.assert_allclose(answer[name][row], expected, rtol=1e-5, atol=1e-6)
    frames = nvc.decode_clips(videos[:1], 1, clips_per_video=6, size=(8, 8))
    np.testing.assert_array_equal(answer["pts"][0], frames.pts[0, :, 0])
    assert made.differences is not None
    assert set(made.differences) == {"logits", "brightest", "pts"}


@pytest.mark.parametrize(
    "shape",
    [(None, 4, SIDE, SIDE, 3), (None, 4, 3, SIDE, SIDE), (None, 3, 4, SIDE, SIDE)],
    ids=["nthwc", "ntchw", "ncthw"],
)
def test_a_network_of_clips(tmp_path: Path, videos: list[bytes], shape: Any) -> None:
    made = nvc.export_video_model(
        Motion(shape).run, tmp_path / "model", clips_per_video=3, stride=2, aggregate="max"
    )
    assert made.clip_length == 4
    reference = Motion((None, 4, SIDE, SIDE, 3)).run
    wanted = by_hand(videos, reference, clip_length=4, clips_per_video=3, stride=2)
    answer = serve(made.folder, videos)
    for row, want in enumerate(wanted):
        expected = 0 if want is None else want.numpy().max(0)
        np.testing.assert_allclose(answer["output_0"][row], expected, rtol=1e-4, atol=1e-6)
    assert answer["pts"].shape == (4, 3, 4)


def test_padding_does_not_count(tmp_path: Path, clips: Clips) -> None:
    data = clips.data("h264.mp4")
    count = int(nvc.probe(data).num_frames)
    how: dict[str, Any] = {"clip_length": count + 40, "clips_per_video": 1}
    network = Colors()
    nvc.export_video_model(network, tmp_path / "model", pad="zero", **how)
    answer = serve(tmp_path / "model", [data])
    frames = nvc.decode_video(data, size=(SIDE, SIDE), dtype=tf.float32).frames
    expected = network(frames)["logits"].numpy().mean(0)
    np.testing.assert_allclose(answer["logits"][0], expected, rtol=1e-5, atol=1e-6)


def test_every_form_of_network(tmp_path: Path, videos: list[bytes]) -> None:
    network = Colors()
    tf.saved_model.save(network, str(tmp_path / "saved"), signatures=network.predict)
    keras = tf.keras.Sequential(
        [tf.keras.Input([SIDE, SIDE, 3]), tf.keras.layers.GlobalAveragePooling2D()]
    )
    keras.add(tf.keras.layers.Dense(5, use_bias=False))
    keras.layers[-1].set_weights([network.weights.numpy()])
    keras.save(tmp_path / "keras.keras")

    weights = network.weights.numpy()

    def plain(frames: Any) -> Any:
        return tf.reduce_mean(frames, [1, 2]) @ weights

    unspecified = tf.TensorSpec([None, SIDE, SIDE, 3])
    forms: list[tuple[Any, dict[str, Any], str]] = [
        (network, {}, "logits"),
        (network.predict, {}, "logits"),
        (str(tmp_path / "saved"), {}, "logits"),
        (tf.saved_model.load(str(tmp_path / "saved")), {}, "logits"),
        (keras, {}, "output_0"),
        (tmp_path / "keras.keras", {}, "output_0"),
        (plain, {"takes": unspecified}, "output_0"),
        (plain, {"takes": tf.TensorSpec([None, None, None, 3]), "size": (SIDE, SIDE)}, "output_0"),
    ]
    first = None
    for place, (form, how, output) in enumerate(forms):
        nvc.export_video_model(form, tmp_path / str(place), clips_per_video=3, **how)
        got = serve(tmp_path / str(place), videos)[output]
        first = got if first is None else first
        np.testing.assert_allclose(got, first, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "options", "low", "high"),
    [
        (tf.uint8, {}, 0, 255),
        (tf.int32, {}, 0, 255),
        (tf.float32, {}, 0, 1),
        (tf.float32, {"value_range": (-1, 1)}, -1, 1),
        (tf.float16, {"value_range": (0, 255)}, 0, 255),
        (tf.bfloat16, {}, 0, 1),
        (tf.float32, {"mean": [0.5, 0.25, 0.0], "std": [0.5, 0.5, 1.0]}, None, None),
    ],
    ids=str,
)
def test_values(
    tmp_path: Path, videos: list[bytes], dtype: Any, options: Any, low: Any, high: Any
) -> None:
    network = Colors(dtype)
    nvc.export_video_model(
        network.predict, tmp_path / "model", clips_per_video=2, aggregate="none", **options
    )
    brightest = serve(tmp_path / "model", videos)["brightest"][0]
    frames = nvc.decode_clips(videos[:1], 1, clips_per_video=2, size=(SIDE, SIDE)).frames[0, :, 0]
    value = frames.numpy().astype(np.float64) / 255
    if low is None:
        value = (value - options["mean"]) / options["std"]
    else:
        value = low + value * (high - low)
    expected = value.max((1, 2, 3))
    np.testing.assert_allclose(brightest, expected, atol=0.01 * (1 if high is None else high))


@pytest.mark.parametrize("shape", [(None, 3, SIDE, SIDE), (None, SIDE, SIDE, 1)], ids=str)
def test_channels_first_and_gray(tmp_path: Path, videos: list[bytes], shape: Any) -> None:
    network = Colors(shape=shape)
    nvc.export_video_model(network.predict, tmp_path / "model", clips_per_video=2)
    how: dict[str, Any] = {"pixel_format": "gray"} if shape[-1] == 1 else {"layout": "tchw"}
    decoded = nvc.decode_clips(
        videos[:1], 1, clips_per_video=2, size=(SIDE, SIDE), dtype=tf.float32, **how
    )
    expected = network.predict(decoded.frames[0, :, 0])["logits"].numpy().mean(0)
    np.testing.assert_allclose(
        serve(tmp_path / "model", videos)["logits"][0], expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("as_file", [False, True])
def test_labels(tmp_path: Path, videos: list[bytes], as_file: bool) -> None:
    names = ["äpfel", "bananas", "cherries", "dates", "elderberries"]
    labels: Any = names
    if as_file:
        labels = tmp_path / "names.txt"
        labels.write_text("\n".join(names) + "\n", encoding="utf-8")
    made = nvc.export_video_model(Colors(), tmp_path / "all", labels=labels, label_output="logits")
    assert made.outputs["labels"].shape[1] == 5
    nvc.export_video_model(
        Colors(), tmp_path / "model", labels=labels, top_k=3, label_output="logits", check=videos
    )
    if as_file:
        labels.unlink()  # the model has its own
        assert (tmp_path / "model" / "assets" / "names.txt").exists()
    answer = serve(tmp_path / "model", videos)
    for row in (0, 2, 3):
        best = np.argsort(-answer["logits"][row], kind="stable")[:3]
        assert [name.decode() for name in answer["labels"][row]] == [names[i] for i in best]
        np.testing.assert_array_equal(answer["scores"][row], answer["logits"][row][best])
    assert answer["labels"][1].tolist() == [b""] * 3


def test_calls_at_the_same_time_run_as_one_batch(tmp_path: Path, videos: list[bytes]) -> None:
    class Counting(Colors):
        """Counts how often the network runs."""

        def __init__(self) -> None:
            super().__init__()
            self.runs = tf.Variable(0, dtype=tf.int32, trainable=False)

        @tf.function(input_signature=[tf.TensorSpec([None, SIDE, SIDE, 3])])
        def __call__(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
            runs = self.runs.assign_add(1)
            count = tf.shape(frames)[0]
            return {**self._predict(frames), "runs": tf.fill([count], tf.cast(runs, tf.float32))}

    made = nvc.export_video_model(
        Counting(),
        tmp_path / "model",
        batch_requests=8,
        check=videos[:1],
        aggregate="max",
        clips_per_video=2,
        labels=list("abcde"),
        label_output="logits",
    )
    plain = tmp_path / "plain"
    nvc.export_video_model(Colors(), plain, aggregate="max", clips_per_video=2)
    want = serve(plain, videos)["logits"]
    assert made.outputs["logits"].shape.as_list() == [None, 5]
    model = tf.saved_model.load(made.folder).signatures["serving_default"]

    def ask(number: int) -> dict[str, np.ndarray]:
        answer = model(contents=tf.constant([videos[number % len(videos)]]))
        return {name: tensor.numpy() for name, tensor in answer.items()}

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, range(64)))
    for number, answer in enumerate(answers):
        row = number % len(videos)
        np.testing.assert_allclose(answer["logits"][0], want[row], rtol=1e-5, atol=1e-6)
        assert bool(answer["status"][0]) == (row == 1)
    runs = max(answer["runs"][0] for answer in answers)
    assert runs < 48, "64 calls by 32 threads"
    # More videos than a batch holds.
    many = model(contents=tf.constant(videos * 5))
    np.testing.assert_allclose(many["logits"], np.tile(want, [5, 1]), rtol=1e-5, atol=1e-6)
    assert model(contents=tf.constant([], tf.string))["logits"].shape == (0, 5)


class OfSomeBatches(Colors):
    """A network whose batch must be one of `sizes`, as that of TensorRT engines."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = tf.constant(sizes)

    @tf.function(input_signature=[tf.TensorSpec([None, SIDE, SIDE, 3])])
    def predict_some(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
        known = tf.reduce_any(self.sizes == tf.shape(frames)[0])
        with tf.control_dependencies([tf.debugging.Assert(known, [tf.shape(frames)])]):
            return self._predict(frames)


def converted(network: OfSomeBatches, folder: Path, **spec: Any) -> Path:
    """Saves a network with a record as a conversion leaves it."""
    tf.saved_model.save(network, str(folder), signatures=network.predict_some)
    shapes = [{"frames": [size, SIDE, SIDE, 3]} for size in network.sizes.numpy().tolist()]
    made = {"name": "serving_default", "converter": "TrtGraphConverterV2", "shapes": shapes}
    settings = {"explicit_batch": True, "profile_strategy": "Optimal", **spec}
    (folder / "conversion.json").write_text(json.dumps({"spec": settings, "signatures": [made]}))
    return folder


def test_batches_that_fit_the_engines(tmp_path: Path, videos: list[bytes]) -> None:
    network = converted(OfSomeBatches(4, 10), tmp_path / "network")
    how: dict[str, Any] = {"clips_per_video": 3}
    made = nvc.export_video_model(network, tmp_path / "model", check=videos, **how)
    together = nvc.export_video_model(network, tmp_path / "together", batch_requests=2, **how)
    assert (made.batch_requests, together.batch_requests) == (0, 2)
    nvc.export_video_model(Colors(), tmp_path / "plain", clips_per_video=3)
    # 1, 2 and 3 videos are 3, 6 and 9 frames, and 4 and 7 videos are more than a batch.
    for count in (0, 1, 2, 3, 4, 7):
        some = (videos * 2)[:count]
        want = serve(tmp_path / "plain", some)
        for model in (made, together):
            got = serve(model.folder, some)
            np.testing.assert_allclose(got["logits"], want["logits"], rtol=1e-5, atol=1e-6)
            assert got["status"].tolist() == want["status"].tolist()
    assert largest_batch(made.folder, "serving_default", "contents") == 3
    assert largest_batch(together.folder, "serving_default", "contents") == 2


def test_batches_that_are_given_or_not_minded(tmp_path: Path, videos: list[bytes]) -> None:
    network = OfSomeBatches(2)
    how: dict[str, Any] = {"clips_per_video": 3}
    nvc.export_video_model(Colors(), tmp_path / "plain", **how)
    want = serve(tmp_path / "plain", videos)
    # A video has more frames than the network takes.
    made = nvc.export_video_model(
        network.predict_some, tmp_path / "model", network_batches=[2], **how
    )
    np.testing.assert_allclose(serve(made.folder, videos)["logits"], want["logits"], rtol=1e-5)
    assert largest_batch(made.folder, "serving_default", "contents") == 1
    saved = converted(network, tmp_path / "small")
    made = nvc.export_video_model(saved, tmp_path / "any", network_batches=[], **how)
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        serve(made.folder, videos)
    (saved / "conversion.json").write_text("{}")
    with pytest.raises(ValueError, match="no record of a conversion.*convert the model again"):
        nvc.export_video_model(saved, tmp_path / "no", **how)


@pytest.mark.parametrize(
    ("spec", "built", "sizes", "filled"),
    [
        # An engine with an implicit batch serves smaller ones.
        ({"explicit_batch": False, "profile_strategy": None}, (8, 4), (1, 4, 8), {3: 3, 9: 9}),
        ({"profile_strategy": "Range"}, (8, 2), (2, 8), {1: 2, 2: 2, 5: 5, 8: 8, 9: 9}),
        ({"profile_strategy": "Range+Optimal"}, (8, 2), (2, 8), {1: 2, 5: 5}),
        ({}, (8, 2), (2, 8), {0: 2, 1: 2, 3: 8, 8: 8, 9: 9}),
    ],
)
def test_the_batches_of_a_conversion(
    tmp_path: Path,
    spec: dict[str, Any],
    built: tuple[int, ...],
    sizes: tuple[int, ...],
    filled: dict[int, int],
) -> None:
    folder = converted(OfSomeBatches(*built), tmp_path / "network", **spec)
    found = engine_batches(folder, "serving_default", "frames")
    assert found is not None
    assert found.sizes == sizes
    for size, full in filled.items():
        assert found.filled(tf.constant(size)).numpy() == full
    assert engine_batches(folder, "other", "frames") is None


def test_the_signature_on_frames(tmp_path: Path) -> None:
    network = Colors()
    nvc.export_video_model(network, tmp_path / "model")
    frames = tf.random.stateless_uniform([7, SIDE, SIDE, 3], [1, 2])
    answer = tf.saved_model.load(str(tmp_path / "model")).signatures["frames"](frames=frames)
    np.testing.assert_allclose(answer["logits"], network(frames)["logits"], rtol=1e-5, atol=1e-6)


def test_a_batch_without_a_video_that_can_be_read(tmp_path: Path) -> None:
    nvc.export_video_model(Colors(), tmp_path / "model", aggregate="max")
    answer = serve(tmp_path / "model", [GARBAGE, b""])
    assert all(answer["status"])
    assert not answer["logits"].any()
    assert serve(tmp_path / "model", [])["logits"].shape == (0, 5)


def named(name: str) -> Any:
    return lambda frames: {name: tf.reduce_mean(frames, [1, 2])}


def integers(frames: Any) -> Any:
    return tf.argmax(tf.reduce_mean(frames, [1, 2]), -1)


IMAGES = tf.TensorSpec([None, SIDE, SIDE, 3])


def looked_up(keys: tf.Tensor) -> tf.Tensor:
    """Uses a table that nothing holds when the model is saved."""
    return TABLES[0].lookup(keys)


TABLES = [
    tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1], tf.int64), [1.0]), 0.0
    )
]


@pytest.mark.parametrize(
    ("network", "arguments", "error", "says"),
    [
        ("no/such/model", {}, FileNotFoundError, "no SavedModel there"),
        ("none.keras", {}, FileNotFoundError, "no such file"),
        (7, {}, TypeError, "network must be .* got int"),
        (integers, {}, ValueError, "does not say what it takes: pass takes="),
        (integers, {"takes": tf.TensorSpec([None, 3])}, ValueError, "it must take numbers, images"),
        (integers, {"takes": tf.TensorSpec([None, 8, 8, 7])}, ValueError, "no dimension has 3"),
        (integers, {"takes": tf.TensorSpec([8, 8, 8, 3])}, ValueError, "batches of 8 only"),
        (integers, {"takes": tf.TensorSpec([None, None, None, 3])}, ValueError, "any size: pass"),
        (integers, {"takes": IMAGES}, ValueError, "needs floats, but output 'output_0' is int64"),
        (named("status"), {"takes": IMAGES}, ValueError, "has an output 'status'"),
        (
            named("scores"),  # a name that is free without labels
            {"takes": IMAGES, "labels": list("rgb")},
            ValueError,
            "has an output 'scores'",
        ),
        (Colors(), {"size": (8, 8)}, ValueError, "size is .8, 8., but the network takes frames"),
        (Colors(), {"aggregate": "sum"}, ValueError, "must be one of: none, mean, max"),
        (Colors(), {"signature": "x", "labels": ["a"]}, ValueError, "label_output must name one"),
        (Colors(), {"labels": ["a"], "label_output": "logits"}, ValueError, "1 labels, but"),
        (Colors(), {"labels": ["a"], "label_output": "x"}, ValueError, "no output 'x', only: "),
        (
            Colors(),
            {"labels": list("abcde"), "label_output": "logits", "top_k": 6},
            ValueError,
            "top_k must be from 1 to 5",
        ),
        (Colors(), {"value_range": (1, 0)}, ValueError, "black < white"),
        (Colors(), {"value_range": (0, 1), "mean": 0.5}, ValueError, "both set the values"),
        (Colors(tf.uint8).predict, {"value_range": (0, 1)}, ValueError, "has no meaning"),
        (
            Motion((None, 4, SIDE, SIDE, 3)).run,
            {"clip_length": 5},
            ValueError,
            "takes clips of 4 frames",
        ),
        (Colors(), {"size": (8,)}, ValueError, "size must be .height, width."),
        (Colors(), {"pixel_format": "gray"}, ValueError, "takes 3 channels: rgb or bgr"),
        (Colors(), {"sampling": "start", "clips_per_video": 2}, ValueError, "clips_per_video"),
        (Colors(), {"clips_per_video": 0}, ValueError, "clips_per_video must be at least 1"),
        (Colors(), {"crop": (0, 0, 8, 8), "center_crop": 1.0}, ValueError, "no crop"),
        (Colors(), {"labels": "no.txt", "label_output": "logits"}, FileNotFoundError, "no.txt"),
        (
            Colors(),
            {"labels": ["a"], "label_output": "brightest"},
            ValueError,
            "no dimension of classes",
        ),
        (Colors(), {"batch_requests": -1}, ValueError, "must not be negative"),
        (Colors(), {"network_batches": [0, 4]}, ValueError, "must be positive, got 0"),
        (Colors(), {"layout": "tchw"}, TypeError, "layout follows from the network"),
        (Colors(), {"colour": 1}, TypeError, "unknown keyword 'colour'"),
        (Colors(), {"check": GARBAGE}, TypeError, "a list of videos' bytes, not bytes"),
        (
            Colors(),
            {"check": [GARBAGE, "clip.mp4"]},
            TypeError,
            "bytes of videos; element 1 is str",
        ),
        (Colors(), {"check": [GARBAGE]}, RuntimeError, "no video of check can be decoded; .*video"),
        (
            lambda frames: looked_up(tf.cast(frames[:, 0, 0, 0], tf.int64)),
            {"takes": IMAGES},
            ValueError,
            "does not keep, such as a lookup table",
        ),
    ],
)
def test_wrong_arguments(
    tmp_path: Path, network: Any, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        nvc.export_video_model(network, tmp_path / "model", **arguments)
    assert not (tmp_path / "model").exists()


def test_a_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        nvc.export_video_model(Colors(), tmp_path)
    nvc.export_video_model(Colors(), tmp_path, overwrite=True)
    assert not (tmp_path / "notes.txt").exists()
    assert serve(tmp_path, [GARBAGE])["status"][0]


def test_what_a_folder_cannot_replace(tmp_path: Path, monkeypatch: Any) -> None:
    file, network = tmp_path / "file", tmp_path / "all" / "network"
    file.write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="is a file"):
            nvc.export_video_model(Colors(), file, overwrite=overwrite)
    tf.saved_model.save(Colors(), str(network))
    with pytest.raises(ValueError, match="holds the network itself"):
        nvc.export_video_model(network, tmp_path / "all", takes=IMAGES, overwrite=True)
    assert tf.saved_model.contains_saved_model(str(network))
    with pytest.raises(ValueError, match="is a mount point"):
        nvc.export_video_model(Colors(), "/proc", overwrite=True)
    # A link stays, and its folder is written.
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    nvc.export_video_model(Colors(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert tf.saved_model.contains_saved_model(str(tmp_path / "real"))
    # What another process puts there meanwhile stays.
    save = tf.saved_model.save

    def slow(*given: Any, **how: Any) -> None:
        save(*given, **how)
        (tmp_path / "taken").mkdir()
        (tmp_path / "taken" / "theirs").touch()

    monkeypatch.setattr(tf.saved_model, "save", slow)
    with pytest.raises(OSError, match="not empty"):
        nvc.export_video_model(Colors(), tmp_path / "taken")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["theirs"]


@pytest.mark.parametrize("sampling", ["center", "start"])
def test_neighbouring_frames(tmp_path: Path, clips: Clips, sampling: str) -> None:
    made = nvc.export_video_model(Colors(), tmp_path / "model", sampling=sampling)
    assert (made.clip_length, made.clips_per_video) == (16, 1)
    assert serve(made.folder, [clips.data("h264.mp4")])["pts"].shape == (1, 16)


def test_a_plain_function_with_a_branch_and_other_dtypes(tmp_path: Path, clips: Clips) -> None:
    def network(frames: Any) -> Any:
        color = tf.reduce_mean(frames, [1, 2])
        if tf.reduce_mean(color) > 0.5:
            color = 1 - color
        return {"dark": color[:, 0] < 0.5, "half": tf.cast(color, tf.bfloat16)}

    made = nvc.export_video_model(
        network,
        tmp_path / "model",
        takes=IMAGES,
        aggregate="none",
        check=[clips.data("h264.mp4"), GARBAGE],
    )
    assert made.differences is not None
    assert set(made.differences) == {"half", "pts"}


def test_integers_are_not_combined(tmp_path: Path, videos: list[bytes]) -> None:
    nvc.export_video_model(
        integers, tmp_path / "model", takes=IMAGES, aggregate="none", clips_per_video=3
    )
    assert serve(tmp_path / "model", videos)["output_0"].shape == (4, 3)


def test_a_model_that_a_fresh_process_cannot_run(tmp_path: Path, videos: list[bytes]) -> None:
    here = {"factor": 1.0}

    def network(frames: Any) -> Any:
        return tf.reduce_mean(frames, [1, 2]) * tf.py_function(
            lambda: here["factor"], [], tf.float32
        )

    with pytest.raises(RuntimeError, match="does not run in a fresh process"):
        nvc.export_video_model(network, tmp_path / "model", takes=IMAGES, check=videos)
    assert not list(tmp_path.iterdir())
    # In an object store, which cannot rename, the old model stays.
    target = "ram://exported/model"
    nvc.export_video_model(Colors(), target, check=videos[:1])
    with pytest.raises(RuntimeError, match="does not run in a fresh process"):
        nvc.export_video_model(network, target, takes=IMAGES, overwrite=True, check=videos[:1])
    assert {"logits", "brightest"} < set(serve(target, videos))
    source = "ram://exported/network"
    tf.saved_model.save(Colors(), source)
    with pytest.raises(ValueError, match="holds the network itself"):
        nvc.export_video_model(source, f"{source}/", takes=IMAGES, overwrite=True)
    assert tf.saved_model.contains_saved_model(source)


@pytest.mark.parametrize(
    ("logged", "says"),
    [
        ("Building a new TensorRT engine for {} with input shapes: [[32,8]]", "builds {} again"),
        ("Executing native segment: {}", "TensorFlow runs instead of {}: .* no engine for this"),
    ],
)
def test_engines_that_did_not_run(tmp_path: Path, monkeypatch: Any, logged: str, says: str) -> None:
    """The log of a process on a GPU, where a network's engines are for other batches."""
    log = [
        "2026-11-26 10:00:00.1: I tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc:922] ",
        "Executing TRT engine: TRTEngineOp_000_000",
        f"{logged.format('PartitionedCall/TRTEngineOp_000_001')}",
    ]
    answers = tmp_path / "run"

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        assert "trt_engine_op=1" in how["env"]["TF_CPP_VMODULE"]
        np.savez(command[-1], output_0=np.zeros([1, 3]))
        answers.touch()
        return subprocess.CompletedProcess(command, 0, "", "\n".join(log))

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(RuntimeError, match=says.format("TRTEngineOp_000_001")):
        differences_in_a_fresh_process("model", [b"video"], {"output_0": np.zeros([1, 3])})
    assert answers.exists()
    del log[-1]
    assert differences_in_a_fresh_process("model", [b"video"], {"output_0": np.zeros([1, 3])})


@pytest.mark.parametrize(
    ("want", "got", "apart"),
    [
        ([-np.inf, np.nan, 1.0], [-np.inf, np.nan, 1.0], 0),
        ([np.inf, 1.0], [np.inf, 2.0], None),
        ([np.inf, 1.0], [5.0, 1.0], None),
        ([-np.inf, 1.0], [np.inf, 1.0], None),
        ([1.0], [np.nan], None),
        ([1000.0, 1.0], [1000.0, 1.5], 0.5),
    ],
)
def test_how_answers_are_compared(
    monkeypatch: Any, want: list[float], got: list[float], apart: float | None
) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        np.savez(command[-1], logits=np.array(got))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    reference = {"logits": np.array(want)}
    if apart is None:
        with pytest.raises(RuntimeError, match="differs by up to"):
            differences_in_a_fresh_process("model", [b"video"], reference)
    else:
        assert differences_in_a_fresh_process("model", [b"video"], reference) == {"logits": apart}


@pytest.mark.parametrize(
    ("labels", "right"),
    [
        (["a", "b", "c"], True),
        (["b", "a", "c"], True),  # their scores are as close as a score may be off
        (["a", "b", "d"], False),
        (["c", "b", "a"], False),
        (["a", "a", "c"], False),
    ],
)
def test_labels_change_places_only_where_scores_are_close(
    monkeypatch: Any, labels: list[str], right: bool
) -> None:
    scores = np.array([[9.0, 8.999, 1.0]])

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        np.savez(command[-1], labels=np.array([labels], "S"), scores=scores)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    reference = {"labels": np.array([["a", "b", "c"]], "S"), "scores": scores}
    if right:
        assert differences_in_a_fresh_process("model", [b"video"], reference) == {"scores": 0}
    else:
        with pytest.raises(RuntimeError, match="output 'labels' is"):
            differences_in_a_fresh_process("model", [b"video"], reference)
