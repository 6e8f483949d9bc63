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
# float32 may round a value this near a half up or down.
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


Crop = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class View:
    """What part of a frame is shown and how large: crop is (top, left, height, width), size is
    (height, width); without them the whole frame, unresized. `siting` (x, y) makes chroma be
    interpolated instead of repeated; -1: on the first luma sample of a block, 0: in its middle."""

    size: tuple[int, int] | None = None
    method: str = "bilinear"
    crop: Crop | None = None
    siting: tuple[int, int] | None = None


WHOLE = View()


@dataclasses.dataclass(frozen=True)
class Frame:
    """One stored frame, packed as rawvideo, and what is needed to show it."""

    data: bytes
    pixel_format: str
    width: int
    height: int
    space: str = "bt601"
    colour_range: str = "limited"
    rotation: int = 0

    @property
    def planes(self) -> list[Array]:
        return split_planes(self.data, self.pixel_format, self.width, self.height)

    @property
    def shown_size(self) -> tuple[int, int]:
        turned = self.rotation % 180 != 0
        return (self.width, self.height) if turned else (self.height, self.width)

    def _to_rgb(self, planes: list[Array]) -> Array:
        fmt = parse_format(self.pixel_format)
        if fmt.family in ("gbrp", "gbrap"):
            green, blue, red = planes
            return np.clip(np.stack([red, green, blue], axis=-1) / ((1 << fmt.depth) - 1), 0, 1)
        if fmt.family == "gray":
            return np.repeat(gray_of(planes[0], self.colour_range, fmt.depth), 3, axis=-1)
        return yuv_to_rgb(planes, self.space, self.colour_range, fmt.depth)

    def rgb(self, view: View = WHOLE) -> Array:
        """R'G'B' in [0, 1], [H, W, 3]."""
        if view.size is not None:
            return self._to_rgb([self._resampled(i, view, 0) for i in range(len(self.planes))])
        shifts = parse_format(self.pixel_format).shifts
        full = self.planes[:1]
        for plane in self.planes[1:]:
            if view.siting is None:
                full.append(upsample_nearest(plane, shifts, self.height, self.width))
            else:
                full.append(upsample_bilinear(plane, shifts, self.height, self.width, view.siting))
        return self._cropped(rotate(self._to_rgb(full), self.rotation), view.crop)

    def gray(self, view: View = WHOLE) -> Array:
        """Luma alone in [0, 1], [H, W, 1]; of RGB frames the weighted sum."""
        fmt = parse_format(self.pixel_format)
        if fmt.family.startswith("gb"):
            kr, kb = KR_KB[self.space]
            return self.rgb(view) @ np.array([[kr], [1 - kr - kb], [kb]])
        if view.size is not None:
            luma = self._resampled(0, view, 0)
        else:
            luma = self._cropped(rotate(self.planes[0], self.rotation), view.crop)
        return gray_of(luma, self.colour_range, fmt.depth)

    def yuv(self, depth: int, chroma_shift: int, view: View = WHOLE) -> list[Array]:
        """Y', Cb and Cr in code values of `depth` bits, not rounded, of a 4:2:0 (1) or 4:4:4 (0)
        output in the frame's own matrix and range."""
        fmt = parse_format(self.pixel_format)
        planes = [self._resampled(0, view, 0)]
        if fmt.family == "gray":
            rows, columns = planes[0].shape
            small = (-(-rows >> chroma_shift), -(-columns >> chroma_shift))
            planes += [np.full(small, float(1 << (fmt.depth - 1)))] * 2
        else:
            planes += [self._resampled(i, view, chroma_shift) for i in (1, 2)]
        return [
            np.clip(self._requantized(plane, depth, i > 0), 0, (1 << depth) - 1)
            for i, plane in enumerate(planes)
        ]

    def _requantized(self, plane: Array, depth: int, chroma: bool) -> Array:
        """The same signal in code values of another bit depth."""
        old = parse_format(self.pixel_format).depth
        if self.colour_range == "limited":
            return plane * 2.0 ** (depth - old)
        scale = ((1 << depth) - 1) / ((1 << old) - 1)
        if not chroma:
            return plane * scale
        return (plane - (1 << (old - 1))) * scale + (1 << (depth - 1))

    @staticmethod
    def _cropped(picture: Array, crop: Crop | None) -> Array:
        if crop is None:
            return picture
        top, left, height, width = crop
        return picture[top : top + height, left : left + width]

    def _resampled(self, index: int, view: View, out_shift: int) -> Array:
        """Plane `index` as shown, brought to the output's size >> `out_shift`."""
        plane = rotate(self.planes[index], self.rotation)
        turned = self.rotation % 180 != 0
        shifts = parse_format(self.pixel_format).shifts if index > 0 else (0, 0)
        by_axis = shifts if turned else shifts[::-1]
        # Whether the first row and the first column on screen are the last ones in the file.
        flips = (self.rotation in (180, 270), self.rotation in (90, 180))
        crop = view.crop or (0, 0, *self.shown_size)
        weights = []
        for axis in (0, 1):
            spec = _Axis(
                picture=self.shown_size[axis],
                plane=plane.shape[axis],
                begin=crop[axis],
                length=crop[axis + 2],
                out=(view.size or crop[2:])[axis],
                shift=by_axis[axis],
                out_shift=out_shift,
                flip=flips[axis],
            )
            siting = None if view.siting is None else view.siting[1 - axis]
            if siting is not None and self.rotation:
                raise ValueError("this reference sites chroma of unturned frames only")
            resized = view.size is not None and view.size != crop[2:]
            weights.append(spec.weights(view.method if resized else None, siting))
        return weights[0] @ plane @ weights[1].T


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one axis of a shown plane becomes the output's: from `begin`, `length` luma pixels on."""

    picture: int  # luma pixels of the whole picture
    plane: int  # samples of the plane; the last may lie partly outside the picture
    begin: int
    length: int
    out: int  # pixels of the output
    shift: int
    out_shift: int
    flip: bool

    def weights(self, method: str | None, siting: int | None) -> Array:
        """[outputs, plane]; `method` None keeps the size and brings chroma to the output's grid."""
        unit = 1 << self.shift
        # The place in luma pixels of the plane. A flipped plane is larger than the picture at its
        # beginning, others at their end.
        begin = self.begin + (self.plane * unit - self.picture if self.flip else 0)
        end = begin + self.length
        count = -(-self.out >> self.out_shift)
        if method is None:
            origin, span = begin / unit, (count << self.out_shift) / unit
            window = (0, self.plane)
            method = "nearest" if siting is None else "bilinear"
            if self.shift <= self.out_shift:
                method = "area"
        else:
            # A crop up to the picture's edge includes the whole last sample.
            low, high = begin / unit, end / unit
            if self.flip and self.begin == 0:
                low = 0.0
            elif not self.flip and self.begin + self.length == self.picture:
                high = float(self.plane)
            origin, span = low, high - low
            window = (begin >> self.shift, ((end - 1) >> self.shift) + 1)
        if siting is not None and self.shift and not self.out_shift:
            origin -= siting * (0.5 - 0.5 / unit)
        return axis_weights(method, count, self.plane, origin=origin, span=span, window=window)
