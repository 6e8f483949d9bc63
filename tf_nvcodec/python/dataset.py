"""Clips of many videos as a tf.data.Dataset."""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Mapping
from typing import Any, Literal

import tensorflow as tf
from typing_extensions import Unpack

from tf_nvcodec.python import choices, loader
from tf_nvcodec.python.arguments import number_from, pair_from, part_from, shown
from tf_nvcodec.python.dataset_clips import Clips, clips_from, segments_from
from tf_nvcodec.python.dataset_element import element_of
from tf_nvcodec.python.dataset_seed import (
    draw_seed,
    is_drawn,
    seed_dataset,
    seed_from,
    split_seeds,
)
from tf_nvcodec.python.dataset_source import Source, resolve, split_element
from tf_nvcodec.python.dataset_statistics import VideoDatasetStatistics, read_statistics
from tf_nvcodec.python.dataset_table import arguments_from
from tf_nvcodec.python.decode import FrameOptions, TensorLike, op_arguments
from tf_nvcodec.python.video_index import index_cache_folder, index_videos


class VideoDatasetOptions(FrameOptions, total=False):
    """Keywords that VideoDataset shares with `decode_video`, whose docstring explains them."""


def _own_keywords() -> list[str]:
    return [name for name in inspect.signature(VideoDataset).parameters if name != "options"]


def _check_only_packs(given: Mapping[str, Any]) -> None:
    """Raises ValueError if an argument is about decoding."""
    for name in sorted(given):
        if given[name] is not None and name not in ("max_pixels", "max_packets", "timeout"):
            raise ValueError(
                f"{name} is about decoding, but decode=False gives compressed clips: pass {name} "
                "to decode_packets"
            )


class VideoDataset(tf.data.Dataset):
    """Clips of videos, decoded in parallel: a source for `tf.data` pipelines.

    An element is a dictionary:

    - `frames`: [clip_length, H, W, C], or another shape that `decode_video` returns. With
      decode=False it has `packets` instead: a string scalar, the compressed clip, which
      `decode_packets` decodes.
    - `pts`: float64 [clip_length], seconds; 0 for frames of zeros that pad a clip.
    - `mask`: bool [clip_length], False for frames that pad a clip (`pad`) or replace damaged ones
      (`on_error`).
    - `video_index`: int64, the position of the video in `filenames`.
    - `clip_index`: int64, the number of the clip in its video.
    - `filename`: string; empty with `contents`.
    - `crop`, int32 [4] (top, left, height, width), and `flipped`, bool: what the clip shows; only
      with random_resized_crop, random_crop or flip.
    - `label`, and the names in `aligned`: the video's rows of the tensors that were passed.

    Without `size` (or `crop`), videos of different sizes give frames of different shapes. Batch
    them with `padded_batch` or `ragged_batch`.

    Args:
      filenames: A list of names, a pattern ("videos/*.mp4"), or a dataset of names, of pairs
        (name, label) or of dictionaries with "filename". Names may begin with "https://", "s3://"
        or what else TensorFlow's file systems open. Only the parts of a file that a clip needs
        are read.
      clip_length: The number of frames in a clip.
      stride: The distance between the frames of a clip: an integer counts frames, a float is in
        seconds.
      clip_step: The distance between the beginnings of two clips, in frames; None is
        clip_length * stride, so that clips follow each other without overlap. With `fps` or a float
        `stride` it counts frames of that rate. An incomplete clip at the end of a video is left
        out, unless it is the only one.
      size: (height, width) to resize to inside the decode; an integer is the shorter side; None
        keeps the size of the frames.
      contents: Replaces `filenames`: a list of the bytes of files, or a dataset of bytes, of pairs
        (bytes, label) or of dictionaries with "contents".
      fps: Resamples to this rate: takes the frame on screen at every 1/fps seconds.
      clips_per_video: Replaces clip_step: the number of clips from each video, whatever its length.
      sampling: Where these clips begin: "uniform" (evenly from the beginning to the last possible
        place; a single clip lies in the middle), "random" (drawn for each epoch), "center" or
        "start" (one clip).
      clip_at: Replaces both: seconds at which clips begin, with the frame on screen then. A list
        for all videos, or a list for each video. A float32 time takes a pts within half an ulp for
        its own.
      segments: A pair (start, end) for each filename, in seconds: the clips are chosen in that part
        of the video, among the frames with start <= pts < end, and counted and padded as if there
        were no others. An end of None is the video's. Names may repeat. clip_at counts from the
        beginning of the file all the same, and must lie in the segment.
      pad: What fills a clip that ends after its video: "repeat" its last frame, "wrap" to its first
        frame, "zero" for frames of zeros (black, in RGB), or "drop" to leave out such clips.
      center_crop: As for `decode_clips`: the part of the largest rectangle in the middle of the
        frame that has the shape of `size`. None takes the whole frame, and may distort it.
      random_resized_crop: (low, high), such as (0.3, 1.0): each clip shows a crop with a random
        part of the frame's area and a random shape, anywhere in the frame, resized to `size`.
      ratio: (low, high), width / height of these crops.
      random_crop: (height, width): each clip shows a crop of this size anywhere in the frame.
      flip: The probability that a clip is mirrored left to right. The seed determines crops and
        flips, for each clip and epoch. All frames of a clip are cut and mirrored alike, inside the
        decode: only the crop is converted.
      labels: Tensors of N rows, one for each video; they become the element's "label".
      aligned: More such tensors, by name.
      shuffle: Mixes all clips of all videos. Where the number of clips is known only from the files
        (all clips, without build_index), it mixes the clips of shuffle_group videos at a time.
      seed: An integer, for shuffle and for random sampling. None draws one when the dataset is
        made; inside a function (`interleave`, tf.function), each time that the function runs.
      reshuffle_each_iteration: Draws a new order and new places for each epoch.
      shuffle_group: The number of videos that a shuffle of unknown counts opens together.
      num_parallel_calls: The number of clips decoded at once; tf.data.AUTOTUNE tunes it.
      deterministic: Whether clips come in order; None follows the dataset's options, else True.
      index_cache: The folder that keeps frame indexes between runs. False keeps none; None means
        $TF_NVCODEC_INDEX_CACHE or the user's cache folder. A file that changes is indexed again.
      build_index: Indexes all files now (with a progress line on a terminal), so that the
        cardinality is exact and shuffle mixes everything. Otherwise a file is indexed when its
        first clip is due.
      decode: False gives compressed clips: they are chosen and read here, and decoded elsewhere or
        later (docs/dataset.md). Damage in the pictures then shows when they are decoded.
      on_error: What a damaged clip does: "raise" its error; "skip" the clip; "repeat" the nearest
        good frame of the clip in place of damaged ones, and skip clips without a good frame. The
        same applies to files that can't be opened, demuxed or decoded, and to segments without a
        frame; `statistics()` counts them.
      name: The name of the op.
      **options: As for `decode_video`. num_threads is the number of threads of one clip's decoding,
        or of one pass over a video. With 0, a clip by itself has one, because several clips are
        decoded at once, and a pass has the cores that no other decode uses. timeout is for opening
        and indexing a video, and again for decoding a clip.

    Raises:
      TypeError: An argument has a wrong type, or a keyword is unknown.
      ValueError: Arguments contradict each other, there are no videos, names or lengths do not fit,
        or an option is none of its strings.
      tf.errors.InvalidArgumentError: A value is out of range; during iteration, a file is no video.
      tf.errors.NotFoundError: And other errors of the file system.
      tf.errors.DataLossError: A frame is damaged, with on_error="raise". Messages name the file and
        the clip.
      tf.errors.DeadlineExceededError: The timeout was over, with on_error="raise".
    """

    def __init__(
        self,
        filenames: Any = None,
        clip_length: int = 16,
        stride: int | float = 1,
        clip_step: int | None = None,
        size: TensorLike | None = None,
        *,
        contents: Any = None,
        fps: float | None = None,
        clips_per_video: int | None = None,
        sampling: str | None = None,
        clip_at: Any = None,
        segments: Any = None,
        pad: str = "repeat",
        center_crop: float | None = None,
        random_resized_crop: tuple[float, float] | None = None,
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        random_crop: tuple[int, int] | None = None,
        flip: float = 0.0,
        labels: Any = None,
        aligned: Mapping[str, Any] | None = None,
        shuffle: bool = False,
        seed: TensorLike | None = None,
        reshuffle_each_iteration: bool = True,
        shuffle_group: int = 16,
        num_parallel_calls: int | None = tf.data.AUTOTUNE,
        deterministic: bool | None = None,
        index_cache: str | os.PathLike[str] | Literal[False] | None = None,
        build_index: bool = False,
        decode: bool = True,
        on_error: str = "raise",
        name: str | None = None,
        **options: Unpack[VideoDatasetOptions],
    ) -> None:
        if (filenames is None) == (contents is None):
            raise ValueError("pass exactly one of filenames and contents")
        if deterministic not in (True, False, None):
            raise TypeError(f"deterministic must be True, False or None, got {deterministic!r}")
        if build_index and filenames is None:
            raise ValueError("build_index=True takes filenames: bytes have no place to be kept")
        if decode not in (True, False):
            raise TypeError(f"decode must be True or False, got {decode!r}")
        if not decode:
            _check_only_packs({**options, "size": size, "center_crop": center_crop})
        clips = clips_from(
            clip_length, stride, clip_step, fps, clips_per_video, sampling, clip_at, pad
        )
        self._statistics_name = uuid.uuid4().hex
        self._arguments: dict[str, Any] = {
            **clips.attributes,
            **op_arguments(
                size, {"num_threads": 0, **options}, VideoDatasetOptions, _own_keywords()
            ),
            "period": clips.period,
            "clip_times": clips.times,
            "clip_time_splits": clips.time_splits,
            "segments": tf.zeros([0, 2], tf.float64),
            "clip_counts": tf.constant([], tf.int64),
            "num_shards": 1,
            "shard_index": 0,
            "shuffle": shuffle,
            "shuffle_group": shuffle_group,
            "reshuffle_each_iteration": reshuffle_each_iteration,
            "num_parallel_calls": 1 if num_parallel_calls is None else num_parallel_calls,
            "deterministic": "default"
            if deterministic is None
            else str(bool(deterministic)).lower(),
            "decode": bool(decode),
            "random_resized_crop": pair_from(random_resized_crop, "random_resized_crop", float),
            "ratio": pair_from(ratio, "ratio", float),
            "random_crop": pair_from(random_crop, "random_crop", int),
            "flip": number_from(flip, "flip"),
            "center_crop": part_from(center_crop, "center_crop"),
            "index_cache": index_cache_folder(index_cache),
            "statistics_name": self._statistics_name,
            "on_error": on_error,
            "name": name,
        }
        self._random = (
            shuffle
            or clips.attributes["sampling"] == "random"
            or random_resized_crop is not None
            or random_crop is not None
            or flip > 0
        )
        seed = seed_from(seed)
        drawn = is_drawn(seed)
        self._seed = draw_seed() if drawn else seed
        # With dynamic sharding the order is drawn in one place, so each epoch can have a new one.
        self._draw_splits_anew = drawn and reshuffle_each_iteration
        if isinstance(contents, tf.data.Dataset):
            self._become(self._streamed(contents, labels, aligned, segments))
            return
        what = "filenames" if contents is None else "contents"
        self._source: Source | None = resolve(
            filenames if contents is None else contents, what, labels, aligned
        )
        if segments is not None:
            self._arguments["segments"] = segments_from(segments, self._source.videos)
        self._arguments["source"] = "files" if contents is None else "contents"
        if build_index:
            self._arguments["clip_counts"] = self._count_clips(self._source, clips)
        self._build()

    @classmethod
    def from_table(
        cls, table: Any, *, root: str | os.PathLike[str] | None = None, **arguments: Any
    ) -> VideoDataset:
        """Returns the dataset of a table that has a row for each video, or for each part of one.

        The columns are `filename`, and if you like `start`, `end` (seconds, as for `segments`; an
        empty cell or NaN is the video's beginning or end) and `label`, of numbers or strings. All
        others are passed through as `aligned`.

        Args:
          table: A dictionary of columns, a DataFrame, or the name of a CSV file whose first row has
            the names of the columns. A column of a CSV file is int64 or float64 if all of its cells
            are such numbers, else strings.
          root: The folder of relative names; None is that of the CSV file, or the current one.
          **arguments: The dataset's other arguments.

        Raises:
          TypeError: `table` is no table, or an argument is also a column.
          ValueError: There is no column `filename`, or a cell does not fit.
          tf.errors.NotFoundError: There is no such CSV file.
        """
        return cls(**arguments_from(table, root), **arguments)

    def for_fit(self) -> tf.data.Dataset:
        """Returns a dataset of pairs (frames, label), as `model.fit` takes them in batches:
        `model.fit(clips.for_fit().batch(8))`.

        Call it behind `shard`, and before `batch`.

        Raises:
          ValueError: The dataset has no labels, or its clips are compressed (decode=False).
        """
        if "label" not in self._element_spec:
            raise ValueError(
                "for_fit gives pairs (frames, label), but this dataset has no labels: pass labels, "
                "or a dataset of pairs (name, label)"
            )
        if "frames" not in self._element_spec:
            raise ValueError("for_fit takes decoded clips, but decode=False gives packets")

        @tf.autograph.experimental.do_not_convert
        def pair(clip: dict[str, Any]) -> tuple[tf.Tensor, Any]:
            return clip["frames"], clip["label"]

        return self.map(pair)

    def statistics(self) -> VideoDatasetStatistics:
        """Returns the counters of this dataset and its shards in this process, up to now."""
        return read_statistics(self._statistics_name)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> tf.data.Dataset:
        """Returns a dataset of every num_shards-th clip from `index` on.

        The clips are divided before the shuffle. So the shards are disjoint and complete whatever
        their seeds, and each decodes only its own clips. Where the number of clips is known only
        from the files, a shard has every num_shards-th video.
        """
        whole = self._source is not None and isinstance(self._arguments["num_shards"], int)
        hint = isinstance(num_shards, int) and num_shards < 1
        if not whole or self._arguments["num_shards"] != 1 or hint:
            return super().shard(num_shards, index, name=name)
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        part._arguments = {
            **self._arguments,
            "num_shards": tf.cast(num_shards, tf.int64),
            "shard_index": tf.cast(index, tf.int64),
        }
        part._build()
        return part

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    def _inputs(self) -> list[tf.data.Dataset]:
        return self._input_datasets

    def _build(self) -> None:
        assert self._source is not None
        self._input_datasets = [self._seeds()]
        variant, self._element_spec = _make(
            self._source, self._input_datasets[0], self._split_seeds(), self._arguments
        )
        super().__init__(variant)

    def _become(self, dataset: tf.data.Dataset) -> None:
        self._source = None
        self._input_datasets = [dataset]
        self._element_spec = dataset.element_spec
        super().__init__(dataset._variant_tensor)

    def _seeds(self) -> tf.data.Dataset:
        if not self._random:
            return tf.data.Dataset.from_tensors(tf.constant(0, tf.int64))
        again = self._arguments["reshuffle_each_iteration"]
        return seed_dataset(self._seed, again)

    def _split_seeds(self) -> tuple[Any, Any]:
        return (0, 0) if self._draw_splits_anew else split_seeds(self._seed)

    def _count_clips(self, source: Source, clips: Clips) -> tf.Tensor:
        if not tf.executing_eagerly():
            raise ValueError("build_index=True reads files at once: make the dataset eagerly")
        if clips.attributes["sampling"] == "at":
            return self._arguments["clip_counts"]  # given by clip_at
        report = index_videos(
            source.videos,
            index_cache=self._arguments["index_cache"] or False,
            max_pixels=self._arguments["max_pixels"],
            max_packets=self._arguments["max_packets"],
            timeout=self._arguments["timeout"],
            period=clips.period,
            segments=self._arguments["segments"],
            **clips.attributes,
        )
        if report.errors and self._arguments["on_error"] == "raise":
            first, error = next(iter(report.errors.items()))
            raise ValueError(
                f"{len(report.errors)} of {len(report.num_frames)} files can't be indexed; "
                f"{shown(source.videos[first].numpy())}: {error}"
            )
        counts = report.clip_counts.copy()
        # The iterator tries to read these files, skips them and counts them as skipped, as it does
        # without build_index.
        counts[list(report.errors)] = 1
        return tf.constant(counts, tf.int64)

    def _streamed(
        self, contents: tf.data.Dataset, labels: Any, aligned: Any, segments: Any
    ) -> tf.data.Dataset:
        """Reads a dataset of bytes in order, one element after the other."""
        if self._arguments["shuffle"]:
            raise ValueError(
                "shuffle=True needs filenames; shuffle the dataset of contents instead"
            )
        if labels is not None or aligned is not None:
            raise ValueError("labels and aligned belong into the dataset of contents' elements")
        if segments is not None:
            raise ValueError("segments needs filenames or a list of contents, a row for each")
        video_of, rest_of = split_element(contents.element_spec, "contents")
        arguments = {**self._arguments, "source": "contents"}

        @tf.autograph.experimental.do_not_convert
        def clips_of(numbered: Any, seed: tf.Tensor) -> tf.data.Dataset:
            index, element = numbered
            one = tf.nest.map_structure(lambda x: tf.expand_dims(x, 0), rest_of(element))
            source = resolve(tf.expand_dims(video_of(element), 0), "contents", None, one)
            seeds = tf.data.Dataset.from_tensors(seed)
            clips = _Clips(source, seeds, arguments)
            return clips.map(lambda clip: {**clip, "video_index": index})

        return tf.data.Dataset.zip((contents.enumerate(), self._seeds().repeat())).interleave(
            clips_of,
            cycle_length=1,
            num_parallel_calls=1,
            deterministic=True,
        )


class _Clips(tf.data.Dataset):
    """The dataset of the op itself, without shuffle groups or shards."""

    def __init__(self, source: Source, seeds: tf.data.Dataset, arguments: dict[str, Any]) -> None:
        self._seeds = seeds
        variant, self._element_spec = _make(source, seeds, (0, 0), arguments)
        super().__init__(variant)

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._seeds]


def _make(
    source: Source, seeds: tf.data.Dataset, split_seeds: tuple[Any, Any], arguments: dict[str, Any]
) -> tuple[tf.Tensor, Any]:
    with choices.named():
        element = element_of(source, arguments)
        variant = loader.ops.video_dataset(
            seed_dataset=seeds._variant_tensor,
            videos=source.videos,
            components=tf.nest.flatten(source.aligned),
            seed=split_seeds[0],
            seed2=split_seeds[1],
            output_types=element.types,
            output_shapes=element.shapes,
            output_order=element.order,
            **arguments,
        )
    return variant, element.spec
