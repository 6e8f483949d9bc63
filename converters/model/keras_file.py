"""A Keras file as a SavedModel."""

from __future__ import annotations

import contextlib
import io
import zipfile
from pathlib import Path

from converters.util.errors import ModelError

KERAS_SUFFIXES = (".keras", ".h5", ".hdf5")


def export_keras(path: Path, folder: Path) -> None:
    """Exports the model into `folder`; ModelError where it cannot be loaded or exported."""
    import tensorflow as tf

    _check_whole(path)
    try:
        model = tf.keras.models.load_model(path, compile=False)
    except Exception as error:  # Keras raises what its layers and h5py raise
        raise ModelError(
            f"{path} cannot be loaded by Keras {tf.keras.__version__}: {error}. Custom layers need "
            "their code: export the model with model.export(...) where it is and convert that"
        ) from error
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Keras prints what it exported
            model.export(str(folder))
    except Exception as error:
        raise ModelError(
            f"{path} cannot be exported by Keras {tf.keras.__version__}: {error}. Build the model "
            "(keras.Input as its first layer, or a call on data), give its inputs names that "
            "Python's variables can have, and save it again"
        ) from error


def _check_whole(path: Path) -> None:
    if path.suffix == ".keras":
        whole = zipfile.is_zipfile(path)
    else:
        import h5py  # type: ignore[import-untyped]

        whole = bool(h5py.is_hdf5(path))
    if not whole:
        raise ModelError(
            f"{path} is no Keras file, or is cut off ({path.stat().st_size} bytes): copy it or "
            "save the model again"
        )
