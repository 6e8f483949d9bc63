"""Draws a contact sheet with Pillow: frames in a grid, with a caption below each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

_GAP = 8
_BACKGROUND = (24, 24, 24)
_INK = (220, 220, 220)


def contact_sheet(
    frames: NDArray[Any], captions: Sequence[str], title: str, columns: int
) -> Image.Image:
    """Draws uint8 `frames` [N, height, width, 3] row by row, `columns` in a row, under `title`."""
    count, height, width = frames.shape[:3]
    columns = max(1, min(columns, count))
    rows = math.ceil(count / columns)
    title_font = _font(20)
    caption_font = _font(14)
    line = _line_height(caption_font) + _GAP // 2
    top = _line_height(title_font) + 2 * _GAP
    sheet = Image.new(
        "RGB",
        (columns * (width + _GAP) + _GAP, top + rows * (height + line + _GAP)),
        _BACKGROUND,
    )
    draw = ImageDraw.Draw(sheet)
    draw.text((_GAP, _GAP), title, fill=_INK, font=title_font)
    for index, (frame, caption) in enumerate(zip(frames, captions)):
        row, column = divmod(index, columns)
        left = _GAP + column * (width + _GAP)
        upper = top + row * (height + line + _GAP)
        sheet.paste(Image.fromarray(frame), (left, upper))
        draw.text((left, upper + height + 2), caption, fill=_INK, font=caption_font)
    return sheet


def clock(seconds: float) -> str:
    """Formats seconds as "0:05.280" or "1:02:03.000"."""
    sign = "-" if seconds < 0 else ""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    hours, minutes = divmod(minutes, 60)
    tail = f"{rest // 1000:02d}.{rest % 1000:03d}"
    return f"{sign}{hours}:{minutes:02d}:{tail}" if hours else f"{sign}{minutes}:{tail}"


def _font(size: int) -> Any:
    try:
        return ImageFont.load_default(size)
    except TypeError:  # Pillow before 10.1 has only one size.
        return ImageFont.load_default()


def _line_height(font: Any) -> int:
    return math.ceil(float(font.getbbox("Ag0")[3]))
