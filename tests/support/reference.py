"""The float64 reference that decoded frames are compared with, written from the definitions.

Colour: the chroma of the luma pixel (x, y) is the sample (x >> sw, y >> sh). The equations 8.3 of
ITU-T H.273 turn Y'CbCr into R'G'B'. The result is clipped and rounded half up.

Resize: each plane is resized from its own resolution to that of the output, by the definition of
tf.image.resize (half-pixel centres, no antialiasing). The colours are converted afterwards. Nothing
is rounded in between. A crop takes the part of each plane that lies under it. This part may begin
or end inside a chroma sample.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# H.273 table 4: Kr and Kb.
KR_KB = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
# A value so near to a half may be rounded up or down in float32.
ROUNDING = 0.01
_SHIFTS = {"444": (0, 0), "422": (1, 0), "420": (1, 1), "440": (0, 1), "411": (2, 0), "410": (2, 2)}
_FORMAT = re.compile(r"(yuvj|yuva|yuv|gray|gbrap|gbrp)(4\d\d)?p?(\d+)?(?:le)?$")


@dataclasses.dataclass(frozen=True)
class Format:
    """What the name of a planar pixel format of FFmpeg says. Shifts are (horizontal, vertical)."""

    family: str
    shifts: tuple[int, int]
    depth: int

    @property
    def full_range(self) -> bool:
        """Whether an untagged stream of this format has the full range."""
        return self.family in ("yuvj", "gray", "gbrp", "gbrap")


def parse_format(name: str) -> Format:
    found = _FORMAT.match(name)
    if not found:
        raise ValueError(f"{name} is not a planar format this reference reads")
    family, chroma, depth = found.groups()
    return Format(family, _SHIFTS[chroma or "444"], int(depth or 8))


def split_planes(data: bytes, pixel_format: str, width: int, height: int) -> list[Array]:
    """Returns the planes of a frame packed as rawvideo: (Y,), (Y, Cb, Cr) or (G, B, R). Alpha is
    left out."""
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
    """Interpolates chroma linearly. `siting` (x, y) says where a chroma sample lies in its block of
    luma samples: -1 on the first one, 0 in the middle, 1 on the last one."""
    axes = []
    for size, count, shift, at in zip((height, width), plane.shape, shifts[::-1], siting[::-1]):
        first = ((1 << shift) - 1) / 2 * (1 + at)
        positions = (np.arange(size) - first) / (1 << shift)
        axes.append(_normalized(_triangle(np.arange(count) - positions[:, None])))
    return axes[0] @ plane @ axes[1].T


def _normalized(weights: Array) -> Array:
    """Scales the weights of each output to a sum of 1. Samples outside of the plane have no part in
    it."""
    return weights / weights.sum(axis=1, keepdims=True)


def _triangle(x: Array) -> Array:
    return np.clip(1 - np.abs(x), 0, None)


def _cubic(x: Array) -> Array:
    """Keys' cubic kernel with a = -0.5."""
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _lanczos3(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


def axis_weights(
    method: str, count: int, size: int, *, origin: float, span: float, window: tuple[int, int]
) -> Array:
    """Returns weights [count, size], which make `count` outputs of the samples in [origin, origin +
    span).

    Only samples in `window` are used.
    """
    inputs = np.arange(size)
    outputs = np.arange(count)[:, None]
    step = span / count
    low = origin + outputs * step
    # A single division keeps centres exact that lie on the border of two samples.
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
    elif method == "lanczos3":
        weights = _lanczos3(inputs + 0.5 - centres)
    else:
        raise ValueError(f"unknown method {method}")
    weights[:, : window[0]] = 0
    weights[:, window[1] :] = 0
    return _normalized(weights)


def resize(plane: Array, height: int, width: int, method: str) -> Array:
    """Resizes one plane like tf.image.resize(antialias=False)."""
    axes = [
        axis_weights(method, count, size, origin=0, span=size, window=(0, size))
        for count, size in zip((height, width), plane.shape)
    ]
    return axes[0] @ plane @ axes[1].T


def yuv_to_rgb(planes: list[Array], space: str, colour_range: str, depth: int) -> Array:
    """Converts Y', Cb and Cr in code values, all of full resolution, to R'G'B' [H, W, 3] in 0 to
    1."""
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
    """Converts luma in code values to gray [H, W, 1] in 0 to 1."""
    if colour_range == "full":
        return (luma / ((1 << depth) - 1))[..., None]
    step = 1 << (depth - 8)
    return np.clip((luma - 16 * step) / (219 * step), 0, 1)[..., None]


def differences(got: npt.NDArray[np.integer], want: Array) -> Array:
    """Returns how far integers are from values rounded half up. If a value may be rounded both
    ways, the difference is 0 for both."""
    off = np.abs(got - np.floor(want + 0.5))
    return np.where(np.abs(got - want) <= 0.5 + ROUNDING, 0, off)


def displayed(picture: Array, degrees: int, mirrored: bool) -> Array:
    """Mirrors a picture left to right, if `mirrored`, and then turns it clockwise, in its first two
    axes."""
    return np.rot90(np.fliplr(picture) if mirrored else picture, -(degrees // 90))


Crop = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class View:
    """Which part of a frame is shown, and how large. `crop` is (top, left, height, width), the
    whole frame by default. `size` is (height, width), by default that of the crop. With `siting`
    (x, y), as in upsample_bilinear, chroma is interpolated; without it, chroma is repeated."""

    size: tuple[int, int] | None = None
    method: str = "bilinear"
    crop: Crop | None = None
    siting: tuple[int, int] | None = None


WHOLE = View()


@dataclasses.dataclass(frozen=True)
class Frame:
    """A stored frame, packed as rawvideo, and all that is needed to show it."""

    data: bytes
    pixel_format: str
    width: int
    height: int
    space: str = "bt601"
    colour_range: str = "limited"
    rotation: int = 0
    mirrored: bool = False  # before the rotation

    @property
    def planes(self) -> list[Array]:
        return split_planes(self.data, self.pixel_format, self.width, self.height)

    @property
    def shown_size(self) -> tuple[int, int]:
        return (self.width, self.height) if self._turned else (self.height, self.width)

    @property
    def _turned(self) -> bool:
        return self.rotation % 180 != 0

    def _displayed(self, picture: Array) -> Array:
        return displayed(picture, self.rotation, self.mirrored)

    def _to_rgb(self, planes: list[Array]) -> Array:
        fmt = parse_format(self.pixel_format)
        if fmt.family in ("gbrp", "gbrap"):
            green, blue, red = planes
            return np.clip(np.stack([red, green, blue], axis=-1) / ((1 << fmt.depth) - 1), 0, 1)
        if fmt.family == "gray":
            return np.repeat(gray_of(planes[0], self.colour_range, fmt.depth), 3, axis=-1)
        return yuv_to_rgb(planes, self.space, self.colour_range, fmt.depth)

    def rgb(self, view: View = WHOLE) -> Array:
        """Returns the view as R'G'B' [H, W, 3] in 0 to 1."""
        if view.size is not None:
            return self._to_rgb([self._resampled(i, view, 0) for i in range(len(self.planes))])
        shifts = parse_format(self.pixel_format).shifts
        full = self.planes[:1]
        for plane in self.planes[1:]:
            if view.siting is None:
                full.append(upsample_nearest(plane, shifts, self.height, self.width))
            else:
                full.append(upsample_bilinear(plane, shifts, self.height, self.width, view.siting))
        return self._cropped(self._displayed(self._to_rgb(full)), view.crop)

    def gray(self, view: View = WHOLE) -> Array:
        """Returns the view as gray [H, W, 1] in 0 to 1. This is the luma, which RGB frames get as a
        weighted sum."""
        fmt = parse_format(self.pixel_format)
        if fmt.family.startswith("gb"):
            kr, kb = KR_KB[self.space]
            return self.rgb(view) @ np.array([[kr], [1 - kr - kb], [kb]])
        if view.size is not None:
            luma = self._resampled(0, view, 0)
        else:
            luma = self._cropped(self._displayed(self.planes[0]), view.crop)
        return gray_of(luma, self.colour_range, fmt.depth)

    def yuv(self, depth: int, chroma_shift: int, view: View = WHOLE) -> list[Array]:
        """Returns the view as Y', Cb and Cr in code values of `depth` bits, not rounded. Matrix and
        range are those of the frame. `chroma_shift` is 1 for 4:2:0 and 0 for 4:4:4."""
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
        """Returns the same signal in code values of another bit depth."""
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
        """Returns plane `index` as the view shows it, in the size of the output >> `out_shift`."""
        plane = self._displayed(self.planes[index])
        shifts = parse_format(self.pixel_format).shifts if index > 0 else (0, 0)
        by_axis = shifts if self._turned else shifts[::-1]
        # Whether the first row and the first column on screen are the last ones in the file.
        flips = [self.rotation in (180, 270), self.rotation in (90, 180)]
        if self.mirrored:
            across = 0 if self._turned else 1  # the axis on screen that has the file's columns
            flips[across] = not flips[across]
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
            if siting is not None and (self.rotation or self.mirrored):
                raise ValueError("this reference sites chroma of stored frames only")
            resized = view.size is not None and view.size != crop[2:]
            weights.append(spec.weights(view.method if resized else None, siting))
        return weights[0] @ plane @ weights[1].T


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one axis of a plane becomes an axis of the output. `length` luma pixels from `begin` on
    are shown."""

    picture: int  # luma pixels of the whole picture
    plane: int  # samples of the plane; the last one may lie partly outside of the picture
    begin: int
    length: int
    out: int  # pixels of the output
    shift: int
    out_shift: int
    flip: bool

    def weights(self, method: str | None, siting: int | None) -> Array:
        """Returns weights [outputs, plane]. With `method` None the size stays, and only chroma is
        brought to the grid of the output."""
        unit = 1 << self.shift
        # Where the shown part begins in the plane, in luma pixels. A plane may be larger than the
        # picture: a flipped plane at its beginning, others at their end.
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
            # A crop that reaches the edge of the picture includes the whole last sample.
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
