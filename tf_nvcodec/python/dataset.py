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
from tf_nvcodec.python.arguments import shown
from tf_nvcodec.python.dataset_clips import Clips, clips_from
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
from tf_nvcodec.python.decode import FrameOptions, TensorLike, op_arguments
from tf_nvcodec.python.video_index import index_cache_folder, index_videos


class VideoDatasetOptions(FrameOptions, total=False):
    """Keywords that VideoDataset shares with `decode_video`, which explains them."""


def _own_keywords() -> list[str]:
    return [name for name in inspect.signature(VideoDataset).parameters if name != "options"]


class VideoDataset(tf.data.Dataset):
    """Clips of videos, decoded in parallel: a source for `tf.data` pipelines.

    An element is a dictionary:
      frames: [clip_length, H, W, C] and the like, as `decode_video` returns them.
      pts: float64 [clip_length], seconds; 0 for frames of zeros that fill a clip up.
      mask: bool [clip_length], False for frames that fill a clip up (`pad`) or stand in for
        damaged ones (`on_error`).
      video_index: int64, place of the video in `filenames`.
      clip_index: int64, number of the clip in its video.
      filename: string; empty with `contents`.
      label, and the names of `aligned`: the video's rows of what was passed through.

    Without `size` (or `crop`), videos of different sizes give frames of different shapes:
    `padded_batch` and `ragged_batch` take them.

    Args:
      filenames: A list of names, a pattern ("videos/*.mp4"), or a dataset of names, of pairs
        (name, label) or of dictionaries with "filename". Names go through TensorFlow's file
        systems; only the parts of a file that a clip needs are read.
      clip_length: Frames of a clip.
      stride: Frames from one frame of a clip to the next; a float: seconds.
      clip_step: All clips of a video, beginning `clip_step` frames after one another; None:
        clip_length * stride, one clip after the other. With `fps` or a float `stride`, counted in
        frames of that rate. What is left at the end of a video makes no clip, unless it is all
        there is.
      size: (height, width) to resize to inside the decode; None keeps the frame's.
      contents: Instead of `filenames`: a list of the bytes of files, or a dataset of bytes, of
        pairs (bytes, label) or of dictionaries with "contents".
      fps: Resample to this rate: the frame on screen at each 1/fps seconds.
      clips_per_video: Instead of clip_step: so many clips of each video, whatever its length.
      sampling: Where these begin: "uniform" (evenly from the beginning to the last possible place;
        one lies in the middle), "random" (drawn for each epoch), "center" or "start" (one clip).
      clip_at: Instead: clips that begin with the frame on screen at these seconds; a list for all
        videos, or a list for each.
      pad: For a clip that ends after its video: "repeat" its last frame, "wrap" to its first one,
        "zero" for frames of zeros (black, in RGB), or "drop" for no such clip.
      labels: Tensors of N rows, one for each video; the element's "label".
      aligned: More of them, by name.
      shuffle: Mix all clips of all videos; where their number is known only from the files (all
        clips, without build_index), mix the clips of shuffle_group videos at a time.
      seed: Integer, of shuffle and of random sampling; None: drawn when the dataset is made, inside
        a function (`interleave`, tf.function) each time that it runs.
      reshuffle_each_iteration: Draw both for each epoch.
      shuffle_group: Videos opened together for a shuffle of unknown counts.
      num_parallel_calls: Clips decoded at once; tf.data.AUTOTUNE: tuned.
      deterministic: Clips come in order; None: as the dataset's options say, else True.
      index_cache: Folder that keeps frame indexes between runs, False for none, None for
        $TF_NVCODEC_INDEX_CACHE or the user's cache folder. A file that changes is indexed again.
      build_index: Index all files now (with a progress line on a terminal), so that cardinality is
        exact and shuffle mixes everything; else a file is indexed when its first clip is due.
      on_error: "raise" the error of a clip; "skip" clips with an error; "repeat" the nearest good
        frame of the clip in place of damaged ones, and skip clips without any. The same for files
        that can't be opened, demuxed or decoded; `statistics()` counts them.
      name: Of the op.
      **options: As for `decode_video`; num_threads (inside one clip's decoding) is 1 by default,
        since clips are decoded side by side.

    Raises:
      TypeError: An argument of another kind, or an unknown keyword.
      ValueError: Arguments that contradict each other, no videos, names or lengths that don't fit,
        an option that is none of the strings that it can be.
      tf.errors.InvalidArgumentError: A value out of range; from iterating, a file that is no video.
      tf.errors.NotFoundError and others of the file system; tf.errors.DataLossError: a damaged
        frame, with on_error="raise". Messages name the file and the clip.
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
        pad: str = "repeat",
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
        clips = clips_from(
            clip_length, stride, clip_step, fps, clips_per_video, sampling, clip_at, pad
        )
        self._statistics_name = uuid.uuid4().hex
        self._arguments: dict[str, Any] = {
            **clips.attributes,
            **op_arguments(
                size, {"num_threads": 1, **options}, VideoDatasetOptions, _own_keywords()
            ),
            "period": clips.period,
            "clip_times": clips.times,
            "clip_time_splits": clips.time_splits,
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
            "index_cache": index_cache_folder(index_cache),
            "statistics_name": self._statistics_name,
            "on_error": on_error,
            "name": name,
        }
        self._random = shuffle or clips.attributes["sampling"] == "random"
        seed = seed_from(seed)
        drawn = is_drawn(seed)
        self._seed = draw_seed() if drawn else seed
        # Dynamic sharding has one place where the order is drawn: there each epoch can be new.
        self._draw_splits_anew = drawn and reshuffle_each_iteration
        if isinstance(contents, tf.data.Dataset):
            self._become(self._streamed(contents, labels, aligned))
            return
        what = "filenames" if contents is None else "contents"
        self._source: Source | None = resolve(
            filenames if contents is None else contents, what, labels, aligned
        )
        self._arguments["source"] = "files" if contents is None else "contents"
        if build_index:
            self._arguments["clip_counts"] = self._count_clips(self._source, clips)
        self._build()

    def statistics(self) -> VideoDatasetStatistics:
        """Counters of this dataset and its shards, in this process, at this moment."""
        return read_statistics(self._statistics_name)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> tf.data.Dataset:
        """Every num_shards-th clip from `index` on, cut before the shuffle: shards are disjoint
        and together everything whatever their seeds, and decode only their own clips. Where the
        number of clips is known only from the files, every num_shards-th video."""
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
            return self._arguments["clip_counts"]  # clip_at tells
        report = index_videos(
            source.videos,
            index_cache=self._arguments["index_cache"] or False,
            max_pixels=self._arguments["max_pixels"],
            period=clips.period,
            **clips.attributes,
        )
        if report.errors and self._arguments["on_error"] == "raise":
            first, error = next(iter(report.errors.items()))
            raise ValueError(
                f"{len(report.errors)} of {len(report.num_frames)} files can't be indexed; "
                f"{shown(source.videos[first].numpy())}: {error}"
            )
        counts = report.clip_counts.copy()
        # Trying to read them skips them, and counts them as skipped, as without build_index.
        counts[list(report.errors)] = 1
        return tf.constant(counts, tf.int64)

    def _streamed(self, contents: tf.data.Dataset, labels: Any, aligned: Any) -> tf.data.Dataset:
        """A dataset of bytes is worked through in order, one element after the other."""
        if self._arguments["shuffle"]:
            raise ValueError(
                "shuffle=True needs filenames; shuffle the dataset of contents instead"
            )
        if labels is not None or aligned is not None:
            raise ValueError("labels and aligned belong into the dataset of contents' elements")
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
    """The op's dataset as it is."""

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
