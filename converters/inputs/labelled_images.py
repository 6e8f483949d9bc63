"""Encoded pictures as an input of a network, in one documented way.

The largest centred rectangle of the input's aspect ratio is cut out, `center_crop` of it is kept,
and it is resized bilinearly to the input's size. With a square input this is the short side and a
centred square; 0.875 is the usual evaluation that resizes the short side to 256 and takes 224.
Float inputs get 0 to 1, `value_range`, or (x - mean) / std of x in 0 to 1; integers get 0 to 255.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.inputs.calibration_data import InputSpec
from converters.util.errors import VerificationDataError

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = (1, 3, 4)


@dataclasses.dataclass(frozen=True)
class ImageOptions:
    """How pictures become values; the names are those of `export_video_model`.

    mean and std have one number, or one for each channel.
    """

    center_crop: float = 1.0
    value_range: tuple[float, float] | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.center_crop <= 1:
            raise VerificationDataError(
                f"center_crop is {self.center_crop}; it is a share of the picture, above 0 and at "
                "most 1"
            )
        if self.value_range is not None and len(self.value_range) != 2:
            raise VerificationDataError(
                f"value_range is {self.value_range}; it is the lowest and the highest value"
            )
        if self.value_range is not None and (self.mean is not None or self.std is not None):
            raise VerificationDataError("give value_range, or mean and std, not both")
        if self.std is not None and not all(self.std):
            raise VerificationDataError(f"std is {self.std}; none of its numbers can be 0")

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [f.name for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]


def no_effect(names: Sequence[str], why: str, other_cure: str) -> VerificationDataError:
    """The error that options have no effect. Its cure is to leave them out, or `other_cure`."""
    options = " and ".join(f"{name} (--{name.replace('_', '-')})" for name in names)
    verb, them = ("has", "it") if len(names) == 1 else ("have", "them")
    return VerificationDataError(
        f"{options} {verb} no effect: {why}. Leave {them} out, or {other_cure}"
    )


class ImageReader:
    """Makes the arrays of one input of pictures.

    `spec` is [N, H, W, C] or [N, C, H, W], of 1, 3 or 4 channels. VerificationDataError if it is
    neither, or has no size, or an option has no effect on its type.
    """

    def __init__(self, name: str, spec: InputSpec, options: ImageOptions) -> None:
        shape = spec.shape or ()
        last = len(shape) == 4 and shape[3] in _CHANNELS
        first = len(shape) == 4 and shape[1] in _CHANNELS and not last
        if not (last or first) or spec.dtype.kind not in "fuiV":
            raise VerificationDataError(
                f"the input {name!r} is {spec.dtype} {spec.text()}, which takes no picture: it has "
                "to be [N, H, W, C] or [N, C, H, W] of 1, 3 or 4 channels. Give the data as a "
                ".npz file, or a model that takes the bytes"
            )
        sides = shape[1:3] if last else shape[2:4]
        if None in sides:
            raise VerificationDataError(
                f"the input {name!r} is {spec.text()}, which does not say the size of a picture: "
                f"give one (--shape {name}:32x224x224x3)"
            )
        self._size = [int(side) for side in sides if side is not None]
        self._channels = int((shape[3] if last else shape[1]) or 0)
        self._channels_first = first
        self._dtype = spec.dtype
        self._options = options
        scaling = [what for what in options.given() if what != "center_crop"]
        if scaling and spec.dtype.kind in "ui":
            raise no_effect(
                scaling,
                f"the input {name!r} is {spec.dtype}, and integers get the pixels as they are",
                "give a model whose input is float",
            )
        for what in ("mean", "std"):
            given = getattr(options, what)
            if given is not None and len(given) not in (1, self._channels):
                raise VerificationDataError(
                    f"{what} has {len(given)} numbers, and pictures have {self._channels} "
                    "channels: give one number, or one for each channel"
                )

    def read(self, contents: bytes, where: str) -> npt.NDArray[Any]:
        """One picture without the batch dimension; `where` names it in errors."""
        import tensorflow as tf

        with tf.device("CPU:0"):
            try:
                image = tf.io.decode_image(contents, self._channels, expand_animations=False)
            except (tf.errors.OpError, ValueError) as error:
                raise VerificationDataError(
                    f"{where}: is no picture that TensorFlow reads (BMP, GIF, JPEG, PNG): "
                    f"{str(error).splitlines()[0]}"
                ) from error
            return self._values(self._resized(image))

    def _resized(self, image: Any) -> npt.NDArray[np.float32]:
        import tensorflow as tf

        height, width = image.shape[:2]
        high, wide = self._size
        kept = self._options.center_crop
        # The largest rectangle of the input's aspect ratio, in whole pixels.
        rows = max(1, round(kept * min(height, width * high / wide)))
        columns = max(1, round(kept * min(width, height * wide / high)))
        top, left = (height - rows) // 2, (width - columns) // 2
        cut = image[top : top + rows, left : left + columns]
        return np.asarray(tf.image.resize(cut, self._size).numpy())

    def _values(self, pixels: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        options = self._options
        if self._dtype.kind in "ui":
            values = np.clip(np.rint(pixels), 0, min(255, np.iinfo(self._dtype).max))
        elif options.mean is not None or options.std is not None:
            mean, std = options.mean or (0.0,), options.std or (1.0,)
            values = (pixels / 255 - np.array(mean, np.float32)) / np.array(std, np.float32)
        else:
            low, high = options.value_range or (0.0, 1.0)
            values = pixels * np.float32((high - low) / 255) + np.float32(low)
        values = values.astype(self._dtype)
        return values.transpose(2, 0, 1) if self._channels_first else values
