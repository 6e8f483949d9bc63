"""Compares two models by how many labelled examples each of them recognises.

Each model runs in a fresh process of its own, one after the other, and reads the data itself: no
batch is kept on disk, and the GPU holds one model at a time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.checks.fresh_check import EngineUse, engine_use
from converters.checks.label_report import MAX_DROP, Hits, LabelReport
from converters.checks.model_pair import described, model_of, with_same_names
from converters.checks.runnable import (
    DEFAULT_SIGNATURE,
    FrozenGraph,
    Model,
    load_signatures,
    run_batch,
    signature_specs,
)
from converters.checks.verify import exported, precision_of
from converters.inputs.calibration_data import InputSpec
from converters.inputs.labelled_data import LabelledData
from converters.util.child import run_in_child
from converters.util.errors import (
    ModelError,
    SpecError,
    VerificationDataError,
    VerificationError,
)
from converters.util.shapes import ShapeSet, format_shape_set, input_name

BATCH_SIZE = 32


def verify_labels(
    native: Model,
    converted: Model,
    data: LabelledData | str | os.PathLike[str],
    *,
    signature: str | None = None,
    scores: str | None = None,
    batch_size: int | None = None,
    num_batches: int | None = None,
    shapes: ShapeSet | None = None,
    max_drop: float | None = None,
    precision: str | None = None,
    tags: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    check_engines: bool = True,
    progress: Callable[[], Any] | None = None,
) -> LabelReport:
    """Measures top-1 and top-5 of both models; the report says whether too much is lost.

    Args:
      native: the model before conversion, as for `verify`, but no function.
      converted: the model after it, likewise.
      data: labelled examples, or a path of them; see LabelledData.
      signature: which to run; None takes serving_default, or the only one.
      scores: the output with a score for each class [N, classes]; None takes the only one of that
        form.
      batch_size: of each request. None takes the batch of `shapes` or of the signature, or 32. The
        last batch is filled up, so that all requests have one shape.
      num_batches: how many batches to run; None takes all of the data.
      shapes: the inputs' full shape, where the signature leaves the size of pictures open.
      max_drop: points of top-1 and of top-5 that may be lost. None takes those of the precision:
        0.1 for FP32 and FP16, 1 for INT8. math.inf allows any.
      precision: "FP32", "FP16" or "INT8"; None asks the converted model's engines.
      tags: the MetaGraph of both SavedModels.
      outputs: the outputs of a MetaGraph that has no signature.
      check_engines: whether a fresh process finds out that engines serve the shape of the requests.
      progress: called when a model is done.

    Raises:
      ModelError: a model, a signature or an output is missing.
      SpecError: there is no such precision.
      VerificationError: the data is bad, or a model failed to run. That examples are lost is no
        exception: see LabelReport.passed and raise_if_failed.
    """
    if not isinstance(data, LabelledData):
        data = LabelledData((os.fspath(data),))
    for model in (native, converted):
        if callable(model):
            raise VerificationError(
                f"the function {model!r} cannot run in another process; give a model's path"
            )
    if max_drop is not None and not max_drop >= 0:
        raise VerificationDataError(f"max_drop is {max_drop}; it is a number of points from 0")
    data.files()  # raises on a wrong path before a process is started
    precision = str(precision or precision_of(converted, tags)).upper()
    if precision not in MAX_DROP:
        raise SpecError(f"precision {precision!r} is none of {', '.join(MAX_DROP)}")
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(exported(native, outputs, child=True))
        source, changed, names = with_same_names(source, converted, tags)
        given = {names.get(input_name(k), input_name(k)): v for k, v in (shapes or {}).items()}
        specs = {
            "native": signature_specs(source, tags),
            "converted": signature_specs(changed, tags),
        }
        chosen = _signature(specs, signature)
        known = _with_shapes(specs["native"][chosen], given)
        data.check(known)  # before a process is started, likewise
        size = _batch_size(known, given, batch_size)
        # Both read the data by the native model's inputs; those of the other have the same names.
        job: dict[str, Any] = {
            "signature": chosen,
            "scores": scores,
            "shapes": {name: list(shape) for name, shape in given.items()},
            "data": dataclasses.asdict(_absolute(data)),
            "batch_size": size,
            "num_batches": num_batches,
            "tags": None if tags is None else list(tags),
        }
        found = {}
        for role, model in (("native", source), ("converted", changed)):
            found[role] = run_in_child(count_hits, {"model": described(model), "role": role, **job})
            if progress is not None:
                progress()
        use = EngineUse()
        if check_engines:
            ran = {k: tuple(shape) for k, shape in found["converted"]["shapes"].items()}
            use = engine_use(changed, {chosen: [ran]}, tags)
    before, after = (_flags(found[role]["top1"]) for role in ("native", "converted"))
    return LabelReport(
        native=_name(native),
        converted=_name(converted),
        precision=precision,
        signature=chosen,
        output=found["native"]["output"],
        examples=len(before),
        native_hits=_hits(found["native"]),
        converted_hits=_hits(found["converted"]),
        lost=int(np.count_nonzero(before & ~after)),
        gained=int(np.count_nonzero(after & ~before)),
        max_drop=MAX_DROP[precision] if max_drop is None else max_drop,
        native_ran=use.native,
        notes=use.notes,
        classes=found["native"]["classes"],
    )


def count_hits(
    model: dict[str, Any],
    role: str,
    signature: str,
    scores: str | None,
    shapes: dict[str, list[int]],
    data: dict[str, Any],
    batch_size: int,
    num_batches: int | None,
    tags: list[str] | None,
) -> dict[str, Any]:
    """The child's side: runs one model on all of the data. `top1` and `top5` of the result have a
    "1" for each example that is recognised and a "0" for each other; `top5` is None for five
    classes or fewer."""
    labelled = LabelledData.from_json(data)
    loaded = load_signatures(model_of(model), tags)[signature]
    given = {name: tuple(shape) for name, shape in shapes.items()}
    specs = _with_shapes(loaded.specs or {}, given)
    output, seen = scores, {}
    top1: list[npt.NDArray[np.bool_]] = []
    top5: list[npt.NDArray[np.bool_]] = []
    classes = silent = 0
    for index, batch in enumerate(labelled.batches(specs, batch_size, num_batches)):
        results = run_batch(loaded, batch.inputs, role, index)
        output = _scores_output(results, output, len(next(iter(batch.inputs.values()))))
        seen = {name: list(value.shape) for name, value in batch.inputs.items()}
        ranks = ranks_of(results[output][: len(batch.labels)], batch.labels)
        classes = results[output].shape[1]
        silent += int(np.count_nonzero(ranks == classes))
        top1.append(ranks < 1)
        top5.append(ranks < 5)
    return {
        "output": output,
        "shapes": seen,
        "classes": classes,
        "silent": silent,
        "top1": _text(top1),
        "top5": _text(top5) if classes > 5 else None,
    }


def ranks_of(scores: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The place of each label's class in its row of scores [n, classes], 0 for the best.

    Of equal scores the first counts as the better one, as in argmax. Rows that are all equal, which
    a model gives for what it could not read, and rows with a NaN recognise nothing: their rank is
    the number of classes.

    Raises:
      VerificationDataError: a label is no class.
    """
    scores = np.asarray(scores, np.float64)
    rows, classes = scores.shape
    outside = labels[(labels < 0) | (labels >= classes)]
    if outside.size:
        raise VerificationDataError(
            f"the label {outside[0]} (with the offset) is no class of a network with {classes}, 0 "
            f"to {classes - 1}. If one of network and data has a background class, shift the "
            "labels (--label-offset 1 or -1)"
        )
    own = scores[np.arange(rows), labels][:, None]
    first = np.arange(classes) < labels[:, None]
    ranks = np.count_nonzero((scores > own) | ((scores == own) & first), axis=1)
    said_nothing = np.isnan(scores).any(axis=1) | (scores == scores[:, :1]).all(axis=1)
    return np.where(said_nothing, classes, ranks)


def _scores_output(results: Mapping[str, Any], wanted: str | None, rows: int) -> str:
    """The output with a score for each class."""
    fitting = [
        name
        for name, value in results.items()
        if value.ndim == 2
        and len(value) == rows
        and value.dtype.kind in "fV"
        and value.shape[1] > 1
    ]
    there = ", ".join(f"{name} {value.dtype}{list(value.shape)}" for name, value in results.items())
    if wanted is None and len(fitting) == 1:
        return fitting[0]
    if wanted in fitting:
        return wanted
    if wanted is None:
        raise ModelError(
            f"{len(fitting)} outputs can be scores of classes [{rows}, classes] in float; name one "
            f"(--scores). The outputs: {there}"
        )
    raise ModelError(
        f"the output {wanted!r} has no scores of classes [{rows}, classes] in float. The outputs: "
        f"{there}"
    )


def _signature(specs: Mapping[str, Mapping[str, Any]], wanted: str | None) -> str:
    for role, own in specs.items():
        name = wanted or (DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in own else None)
        if name is None and len(own) == 1:
            name = next(iter(own))
        if name not in own:
            raise ModelError(
                f"the {role} model has no signature {name or DEFAULT_SIGNATURE!r}; it has: "
                f"{', '.join(own)}. Name one (--signature)"
            )
        wanted = name
    assert wanted is not None
    return wanted


def _with_shapes(
    specs: Mapping[str, InputSpec], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, InputSpec]:
    """The inputs with the dimensions besides the batch as `shapes` has them."""
    for name, shape in shapes.items():
        if name not in specs or not specs[name].takes(shape):
            there = ", ".join(f"{key} {spec.text()}" for key, spec in specs.items())
            raise VerificationDataError(
                f"the shape {format_shape_set({name: shape})} does not fit the inputs: {there}"
            )
    return {
        name: InputSpec((spec.shape[0], *shapes[name][1:]), spec.dtype)
        if name in shapes and spec.shape
        else spec
        for name, spec in specs.items()
    }


def _batch_size(specs: Mapping[str, InputSpec], shapes: ShapeSet, wanted: int | None) -> int:
    fixed = {shape[0] for shape in shapes.values() if shape}
    fixed |= {spec.shape[0] for spec in specs.values() if spec.shape and spec.shape[0] is not None}
    if wanted is not None:
        fixed.add(wanted)
    if len(fixed) > 1:
        raise VerificationDataError(
            f"the batch is {' and '.join(map(str, sorted(fixed)))} at the same time: the "
            "signature, the shape and the batch size have to agree"
        )
    return next(iter(fixed), BATCH_SIZE)


def _absolute(data: LabelledData) -> LabelledData:
    """The child works in another folder."""
    return dataclasses.replace(data, paths=tuple(map(os.path.abspath, data.paths)))


def _name(model: Model) -> str:
    return os.fspath(model.path if isinstance(model, FrozenGraph) else model)  # type: ignore[arg-type]


def _hits(found: Mapping[str, Any]) -> Hits:
    top5 = None if found["top5"] is None else found["top5"].count("1")
    return Hits(found["top1"].count("1"), top5, found["silent"])


def _text(flags: Sequence[npt.NDArray[np.bool_]]) -> str:
    return "".join("1" if flag else "0" for part in flags for flag in part)


def _flags(text: str) -> npt.NDArray[np.bool_]:
    return np.array([flag == "1" for flag in text], bool)
