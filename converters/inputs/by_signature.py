"""Which signature gets which part of the user's data, where it may be a dict by signature."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from converters.inputs.calibration_data import InputSpec
from converters.util.errors import CalibrationError, ConverterError, SpecError


def takes_strings(specs: Mapping[str, InputSpec]) -> bool:
    return any(spec.is_string for spec in specs.values())


def is_by_signature(data: Any, signatures: Collection[str]) -> bool:
    """A dict of one batch has the inputs' names instead."""
    return isinstance(data, Mapping) and bool(set(data) & set(signatures))


def build_data_of(data: Any, inputs: Mapping[str, Mapping[str, InputSpec]]) -> dict[str, Any]:
    """The data to build with of each signature that gets some.

    Data that is no dict by signature goes to the signatures with strings, which have no other
    values; if there are none, to all.

    Raises:
      SpecError: the data is for a signature that is not converted, or the signatures that would
        share the data have different inputs.
    """
    if is_by_signature(data, inputs):
        unknown = sorted(set(data) - set(inputs))
        if unknown:
            raise SpecError(
                f"build_data has the signature {unknown[0]!r}, which is not converted; there are: "
                f"{', '.join(inputs)}"
            )
        return dict(data)
    chosen = {name: specs for name, specs in inputs.items() if takes_strings(specs)} or inputs
    _require_same(chosen, "build_data", SpecError)
    return dict.fromkeys(chosen, data)


def calibration_data_of(
    data: Any, inputs: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, Any]]:
    """(signature, its data); None for the same as before, when one source serves them all."""
    if is_by_signature(data, inputs):
        for name in inputs:
            if name not in data:
                raise CalibrationError(f"calibration_data has nothing for signature {name!r}")
            yield name, data[name]
        return
    _require_same(inputs, "calibration_data", CalibrationError)
    first = next(iter(inputs))
    for name in inputs:
        yield name, data if name == first else None


def verify_data_of(signature: str, data: Any, signatures: Collection[str]) -> Any:
    """The data of one signature to compare on, where `data` may be a dict by signature. None: the
    dict has none for it."""
    if isinstance(data, Mapping) and data and set(data) <= set(signatures):
        return data.get(signature)
    return data


def _require_same(
    inputs: Mapping[str, Collection[str]], argument: str, error: type[ConverterError]
) -> None:
    first = next(iter(inputs))
    other = [name for name in inputs if set(inputs[name]) != set(inputs[first])]
    if other:
        raise error(
            f"signatures {first!r} and {other[0]!r} have different inputs: give {argument} as a "
            f"dict by signature ({', '.join(map(repr, inputs))}), or name one in signatures"
        )
