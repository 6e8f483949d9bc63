"""Labels all videos of a folder or bucket with Apache Beam, and writes Parquet files.

    python examples/label_folder.py MODEL "clips/**.mp4" OUT [Beam's options]

MODEL is a folder that `tf_nvcodec.export_video_model` has written with labels. The pattern and OUT
may be on any file system that Beam knows, such as gs://. The table has the columns path, labels,
scores and status; status says what is wrong with a file that could not be read or decoded.

Each file in OUT is complete as soon as it is there. Whoever starts the same command again after it
was stopped continues: videos that have a row are left out. Without options the pipeline runs in
this process; --runner=FlinkRunner or DataflowRunner, with their options, run it on many machines.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io import fileio
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import KeyedModelHandler, ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float32())),
        ("status", pa.string()),
    ]
)


class VideoModelHandler(ModelHandler[bytes, dict, Any]):
    """Loads an exported model once a process and runs it on batches of videos."""

    def __init__(self, folder: str, batch: int) -> None:
        super().__init__()
        self._folder, self._batch = folder, batch

    def load_model(self) -> Any:
        import tensorflow as tf

        import tf_nvcodec  # noqa: F401  (the model has its ops)

        return tf.saved_model.load(self._folder)

    def run_inference(
        self, batch: Sequence[bytes], model: Any, inference_args: dict | None = None
    ) -> Iterable[dict]:
        import tensorflow as tf

        outputs = model.signatures["serving_default"](contents=tf.constant(list(batch), tf.string))
        columns = {name: outputs[name].numpy() for name in ("labels", "scores", "status")}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def batch_elements_kwargs(self) -> dict[str, int]:
        return {"min_batch_size": 1, "max_batch_size": self._batch}

    def get_metrics_namespace(self) -> str:
        return "VideoModel"


def read(file: fileio.ReadableFile) -> Iterator[Any]:
    """Gives the path and contents of a file, or its row if it cannot be read."""
    path = file.metadata.path
    try:
        yield path, file.read()
    except Exception as error:
        row = {"path": path, "labels": [], "scores": [], "status": f"cannot be read: {error}"}
        yield beam.pvalue.TaggedOutput("unreadable", row)


def to_row(answer: tuple[str, dict]) -> dict:
    path, found = answer
    status = found["status"].decode()
    return {
        "path": path,
        "labels": [] if status else [label.decode() for label in found["labels"]],
        "scores": [] if status else found["scores"].tolist(),
        "status": status,
    }


def write(rows: Sequence[dict], folder: str) -> None:
    """Writes a file whose name follows from its rows.

    If Beam runs the same batch again, its file is replaced. If it makes other batches then, some
    videos have two rows: readers take one for each path.
    """
    rows = sorted(rows, key=lambda row: row["path"])
    name = hashlib.sha256("\n".join(row["path"] for row in rows).encode()).hexdigest()[:24]
    path = FileSystems.join(folder, f"{name}.parquet")
    unfinished = FileSystems.join(folder, f".{name}.unfinished")
    with FileSystems.create(unfinished) as file:
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), file)
    if FileSystems.exists(path):
        FileSystems.delete([path])
    FileSystems.rename([unfinished], [path])


def finished_paths(folder: str) -> set[str]:
    """The videos that have a row in OUT."""
    done: set[str] = set()
    for match in FileSystems.match([FileSystems.join(folder, "*.parquet")]):
        for metadata in match.metadata_list:
            with FileSystems.open(metadata.path) as file:
                done.update(pq.ParquetFile(file).read(["path"])["path"].to_pylist())
    return done


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("pattern")
    parser.add_argument("out")
    parser.add_argument("--batch", type=int, default=8, help="videos that are decoded together")
    parser.add_argument("--rows", type=int, default=1000, help="of a Parquet file, at most")
    args, rest = parser.parse_known_args(argv)
    # Beam's other runner for one machine wants a program from the network.
    options = PipelineOptions(["--runner=FnApiRunner", *rest])
    if not FileSystems.exists(args.out):
        FileSystems.mkdirs(args.out)
    done = finished_paths(args.out)
    handler = KeyedModelHandler(VideoModelHandler(args.model, args.batch))
    with beam.Pipeline(options=options) as pipeline:
        files = (
            pipeline
            | fileio.MatchFiles(args.pattern)
            | "not yet labelled" >> beam.Filter(lambda file, done: file.path not in done, done)
            | beam.Reshuffle()  # shares the files among the workers
            | fileio.ReadMatches()
            | beam.FlatMap(read).with_outputs("unreadable", main="readable")
        )
        labelled = files.readable | RunInference(handler) | beam.Map(to_row)
        (
            (labelled, files.unreadable)
            | beam.Flatten()
            | beam.BatchElements(min_batch_size=args.rows, max_batch_size=args.rows)
            | beam.Map(write, args.out)
        )
    print(f"{args.out}: {len(done)} videos before, {len(finished_paths(args.out))} now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
