"""The tags of a transcoded video that make it look as before: its colours and its pixels' shape."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

from tf_nvcodec.cli import options
from tf_nvcodec.cli.errors import warn
from tf_nvcodec.cli.source import Source

# FFmpeg's names of the matrices that the encoder writes.
_COLOR_SPACES = {
    "bt709": "bt709",
    "smpte170m": "bt601",
    "bt470bg": "bt601",
    "bt2020nc": "bt2020",
    "bt2020c": "bt2020",
}
# The encoders' option color_trc has another name for these two.
_TRANSFERS = {"bt470m": "gamma22", "bt470bg": "gamma28"}
_NO_TAGS = ("unknown", "reserved")
_HDR = ("smpte2084", "arib-std-b67")
# The encoders' option sar ends here. Wider or higher pixels are errors of their file.
_MAX_SHAPE = 10
# x264 rounds a shape to terms up to this.
_MAX_TERM = 4096


def color_keywords(
    info: dict[str, Any], args: argparse.Namespace, input_format: str
) -> dict[str, Any]:
    """Returns color_space and color_range of encode_video for frames decoded to `input_format`.

    Streams without tags get the guess that decoding makes from the size of the input. A guess from
    the size of the output could differ.
    """
    large = int(info["width"]) >= 1280 or int(info["height"]) > 576
    space = _COLOR_SPACES.get(info["color_space"], "bt709" if large else "bt601")
    colour = {"color_space": args.color_space or space}
    if input_format in options.PACKED:
        stored = info["color_range"]
        if stored == "unknown":
            stored = "full" if str(info["pixel_format"]).startswith("yuvj") else "limited"
        colour["color_range"] = args.color_range or stored
    return colour


def tag_options(source: Source, args: argparse.Namespace) -> dict[str, str]:
    """Returns the encoder's options for the input's transfer, primaries and shape of a pixel.

    The frames are converted between none of them. With --color-space, which says that the input's
    colours are other ones than its tags, the encoder writes the tags that belong to it.
    """
    tags: dict[str, str] = {}
    if args.color_space is None:
        transfer = str(source.info["color_transfer"])
        tags["color_trc"] = _TRANSFERS.get(transfer, transfer)
        tags["color_primaries"] = str(source.info["color_primaries"])
    tags = {name: value for name, value in tags.items() if value not in _NO_TAGS}
    shape = pixel_shape(source, args)
    if shape != 1:
        tags["sar"] = f"{shape.numerator}/{shape.denominator}"
    return tags


def pixel_shape(source: Source, args: argparse.Namespace) -> Fraction:
    """Returns the width of a pixel of OUT over its height; 1 when unknown.

    Square pixels stay square. Other ones become as wide after --size as it takes for the picture to
    keep its proportions on the screen.
    """
    stored = float(source.info["sample_aspect_ratio"])
    if not 1 / _MAX_SHAPE <= stored <= _MAX_SHAPE:
        return Fraction(1)
    shape = Fraction(stored).limit_denominator(_MAX_TERM)
    if source.is_turned(args):
        shape = 1 / shape
    if shape == 1 or args.size is None:
        return shape
    (height, width), (new_height, new_width) = source.region_size(args), args.size
    shape *= Fraction(width * new_height, height * new_width)
    if not Fraction(1, _MAX_SHAPE) <= shape <= _MAX_SHAPE:
        return Fraction(1)
    return shape.limit_denominator(_MAX_TERM)


def warn_of_lost(tags: dict[str, str], output: str, codec: str, container: str) -> None:
    """Warns of tags that change the look of the video and have no place in OUT."""
    in_container = container in ("mp4", "mov", "mkv", "webm")
    cure = "write .mkv or .mp4"
    if tags.get("color_trc") in _HDR and not in_container and codec not in ("h264", "hevc", "av1"):
        cause = f"{codec} in {container} has no tag for HDR ({tags['color_trc']}): it looks pale"
        warn(output, cause, cure)
    if "sar" in tags and not in_container and codec not in ("h264", "hevc", "mjpeg", "ffv1"):
        shape = tags["sar"].replace("/", ":")
        cause = f"{codec} in {container} has no tag for pixels of {shape}: it looks distorted"
        warn(output, cause, cure)
