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

    def rgb(self, view: View = View()) -> Array:
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

    def gray(self, view: View = View()) -> Array:
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

    def yuv(self, depth: int, chroma_shift: int, view: View = View()) -> list[Array]:
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
        fmt = parse_format(self.pixel_format)
        shifts = fmt.shifts if index > 0 else (0, 0)
        plane = rotate(self.planes[index], self.rotation)
        across, down = shifts if self.rotation % 180 == 0 else shifts[::-1]
        crop = view.crop or (0, 0, *self.shown_size)
        size = view.size or crop[2:]
        resized = size != crop[2:]
        # Luma pixels by which the plane reaches over the shown picture's first row and column.
        over_y = (plane.shape[0] << down) - self.shown_size[0] if self.rotation in (180, 270) else 0
        over_x = (
            (plane.shape[1] << across) - self.shown_size[1] if self.rotation in (90, 180) else 0
        )
        axes = []
        for axis, (shift, over) in enumerate(((down, over_y), (across, over_x))):
            unit = 1 << shift
            begin, length = crop[axis] + over, crop[axis + 2]
            count = -(-size[axis] >> out_shift)
            step = length * (1 << out_shift) / size[axis] / unit
            origin = begin / unit
            if view.siting is not None and shift:
                if self.rotation:
                    raise ValueError("this reference sites chroma of unturned frames only")
                origin -= view.siting[1 - axis] * (0.5 - 0.5 / unit)
            method = view.method
            window = (begin >> shift, ((begin + length - 1) >> shift) + 1)
            if not resized:
                window = (0, plane.shape[axis])
                method = "nearest" if view.siting is None else "bilinear"
                if shift <= out_shift:
                    method = "area"
            axes.append(
                axis_weights(
                    method, count, plane.shape[axis], origin=origin, step=step, window=window
                )
            )
        return axes[0] @ plane @ axes[1].T
