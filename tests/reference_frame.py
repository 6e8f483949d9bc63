"""What a decoded frame must look like in each output format, in float64."""

from __future__ import annotations

import dataclasses

import numpy as np
from reference import (
    KR_KB,
    Array,
    axis_weights,
    gray_of,
    parse_format,
    rotate,
    split_planes,
    upsample_bilinear,
    upsample_nearest,
    yuv_to_rgb,
)

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
        # Whether the first row and column shown are the last ones stored.
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
    plane: int  # samples of the plane, which may reach over the picture by part of one
    begin: int
    length: int
    out: int  # pixels of the output
    shift: int
    out_shift: int
    flip: bool

    def weights(self, method: str | None, siting: int | None) -> Array:
        """[outputs, plane]; `method` None keeps the size and brings chroma to the output's grid."""
        unit = 1 << self.shift
        # In luma pixels of the plane: a flipped one reaches over the picture at its beginning.
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
            # What reaches to the picture's edge takes in the whole last sample.
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
