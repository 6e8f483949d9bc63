"""The float64 reference that decoded frames are compared with, written from the definitions.

Colour: chroma at luma pixel (x, y) is the sample (x >> sw, y >> sh); Y'CbCr to R'G'B' is ITU-T
H.273, equations 8.3; the result is clipped and rounded half up. Resize: each plane goes from its
own resolution to the output's, with the definition of tf.image.resize (half-pixel centres, no
antialiasing), and is converted afterwards, without rounding in between. Of a cropped plane the part
that lies under the crop is resized, which may begin or end inside a chroma sample.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# H.273 table 4: Kr and Kb.
KR_KB = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
# A value this near a half may round either way in float32.
ROUNDING = 0.01
_SHIFTS = {"444": (0, 0), "422": (1, 0), "420": (1, 1), "440": (0, 1), "411": (2, 0), "410": (2, 2)}
_FORMAT = re.compile(r"(yuvj|yuva|yuv|gray|gbrap|gbrp)(4\d\d)?p?(\d+)?(?:le)?$")


@dataclasses.dataclass(frozen=True)
class Format:
    """What a planar FFmpeg pixel format's name says. Shifts are (horizontal, vertical)."""

    family: str
    shifts: tuple[int, int]
    depth: int

    @property
    def full_range(self) -> bool:
        """The range of an untagged stream of this format."""
        return self.family in ("yuvj", "gray", "gbrp", "gbrap")


def parse_format(name: str) -> Format:
    found = _FORMAT.match(name)
    if not found:
        raise ValueError(f"{name} is not a planar format this reference reads")
    family, chroma, depth = found.groups()
    return Format(family, _SHIFTS[chroma or "444"], int(depth or 8))


def split_planes(data: bytes, pixel_format: str, width: int, height: int) -> list[Array]:
    """The planes of a frame packed as rawvideo: (Y,), (Y, Cb, Cr), (G, B, R), alpha left out."""
    fmt = parse_format(pixel_format)
    samples = np.frombuffer(data, "<u2" if fmt.depth > 8 else "u1").astype(np.float64)
    small = (-(-height >> fmt.shifts[1]), -(-width >> fmt.shifts[0]))
    # -(-a >> b) rounds up, as FFmpeg sizes chroma planes of odd pictures.
    shapes = [(height, width)] if fmt.family == "gray" else [(height, width), small, small]
    planes, at = [], 0
    for rows, columns in shapes:
        planes.append(samples[at : at + rows * columns].reshape(rows, columns))
        at += rows * columns
    alpha = height * width if fmt.family in ("yuva", "gbrap") else 0
    if at + alpha != samples.size:
        raise ValueError(f"{samples.size} samples are not a {width}x{height} {pixel_format} frame")
    return planes


def upsample_nearest(plane: Array, shifts: tuple[int, int], height: int, width: int) -> Array:
    rows = np.arange(height) >> shifts[1]
    columns = np.arange(width) >> shifts[0]
    return plane[np.ix_(rows, columns)]


def upsample_bilinear(
    plane: Array, shifts: tuple[int, int], height: int, width: int, siting: tuple[int, int]
) -> Array:
    """Linear interpolation of chroma; `siting` (x, y): -1 on the first luma sample of a block, 0 in
    its middle, 1 on the last."""
    axes = []
    for size, count, shift, at in zip((height, width), plane.shape, shifts[::-1], siting[::-1]):
        first = ((1 << shift) - 1) / 2 * (1 + at)
        positions = (np.arange(size) - first) / (1 << shift)
        axes.append(_normalized(_triangle(np.arange(count) - positions[:, None])))
    return axes[0] @ plane @ axes[1].T


def _normalized(weights: Array) -> Array:
    """Samples outside the plane count for nothing; the others' weights sum to 1."""
    return weights / weights.sum(axis=1, keepdims=True)


def _triangle(x: Array) -> Array:
    return np.clip(1 - np.abs(x), 0, None)


def _cubic(x: Array) -> Array:
    """Keys' kernel with a = -0.5."""
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def axis_weights(
    method: str, count: int, size: int, *, origin: float, span: float, window: tuple[int, int]
) -> Array:
    """Weights [count, size] that share the samples under [origin, origin + span) among the outputs.

    Only samples in `window` are used.
    """
    inputs = np.arange(size)
    outputs = np.arange(count)[:, None]
    step = span / count
    low = origin + outputs * step
    # One division, so that centres on the border of two samples are found exactly.
    centres = origin + (2 * outputs + 1) * span / (2 * count)
    if method == "nearest":
        chosen = np.clip(np.floor(centres), window[0], window[1] - 1)
        return (inputs == chosen).astype(np.float64)
    if method == "area":
        covered = np.minimum(inputs + 1, low + step) - np.maximum(inputs, low)
        weights = np.clip(covered, 0, None)
    elif method == "bilinear":
        weights = _triangle(inputs + 0.5 - centres)
    elif method == "bicubic":
        weights = _cubic(inputs + 0.5 - centres)
    else:
        raise ValueError(f"unknown method {method}")
    weights[:, : window[0]] = 0
    weights[:, window[1] :] = 0
    return _normalized(weights)


def resize(plane: Array, height: int, width: int, method: str) -> Array:
    """tf.image.resize(antialias=False) of one plane."""
    axes = [
        axis_weights(method, count, size, origin=0, span=size, window=(0, size))
        for count, size in zip((height, width), plane.shape)
    ]
    return axes[0] @ plane @ axes[1].T


def yuv_to_rgb(planes: list[Array], space: str, colour_range: str, depth: int) -> Array:
    """R'G'B' in [0, 1], [H, W, 3], of full-resolution Y', Cb and Cr in code values."""
    luma, cb, cr = planes
    step = 1 << (depth - 8)
    if colour_range == "full":
        y = luma / ((1 << depth) - 1)
        pb, pr = ((c - (1 << (depth - 1))) / ((1 << depth) - 1) for c in (cb, cr))
    else:
        y = (luma - 16 * step) / (219 * step)
        pb, pr = ((c - 128 * step) / (224 * step) for c in (cb, cr))
    kr, kb = KR_KB[space]
    red = y + 2 * (1 - kr) * pr
    blue = y + 2 * (1 - kb) * pb
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(np.stack([red, green, blue], axis=-1), 0, 1)


def gray_of(luma: Array, colour_range: str, depth: int) -> Array:
    """Luma alone, stretched to [0, 1], [H, W, 1]."""
    if colour_range == "full":
        return (luma / ((1 << depth) - 1))[..., None]
    step = 1 << (depth - 8)
    return np.clip((luma - 16 * step) / (219 * step), 0, 1)[..., None]


def differences(got: npt.NDArray[np.integer], want: Array) -> Array:
    """How far integers are from values rounded half up; 0 where either rounding would do."""
    off = np.abs(got - np.floor(want + 0.5))
    return np.where(np.abs(got - want) <= 0.5 + ROUNDING, 0, off)


def rotate(picture: Array, degrees: int) -> Array:
    """Turns the first two axes clockwise."""
    return np.rot90(picture, -(degrees // 90))
