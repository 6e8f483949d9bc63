"""The table of CreateEncoder's parameters: what each takes, what it means and what it becomes.

The checks, the settings of the CPU's encoders, NVENC's options and docs/pynvvideocodec_encoding.md
all come from this table.

PyNvVideoCodec's own defaults, and how it reads values, are in NvEncoderClInterface.cpp of its
published source (2.0). The documentation lists the differences.
"""

from __future__ import annotations

from dataclasses import dataclass

from tf_nvcodec.compat.encode_values import (
    Bits,
    Choice,
    Distance,
    FrameRate,
    Kind,
    Quantisers,
    Size,
    Whole,
)

CODECS = ("h264", "hevc", "av1")


@dataclass(frozen=True)
class Rule:
    """What a CPU encoder does with a parameter.

    `how` is "mapped" (to `text`); "ignored" with a warning, if the parameter is about the hardware
    or changes only time, quality and rate; or "refused", if it says what the stream must contain
    and the encoder cannot do that.
    """

    how: str
    text: str


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    default: str
    meaning: str
    nvenc: tuple[str, ...]  # libavcodec's options for h264_nvenc, hevc_nvenc and av1_nvenc
    h264: Rule
    hevc: Rule
    av1: Rule
    codecs: tuple[str, ...] = CODECS
    nvenc_text: str = ""  # a remark about NVENC

    def rule(self, codec: str) -> Rule:
        return {"h264": self.h264, "hevc": self.hevc, "av1": self.av1}[codec]


def mapped(text: str) -> Rule:
    return Rule("mapped", text)


def ignored(text: str) -> Rule:
    return Rule("ignored", text)


def refused(text: str) -> Rule:
    return Rule("refused", text)


def _row(
    name: str,
    kind: Kind,
    default: str,
    meaning: str,
    nvenc: tuple[str, ...],
    *rules: Rule,
    codecs: tuple[str, ...] = CODECS,
    nvenc_text: str = "",
) -> Parameter:
    """Makes a row. One rule is for all encoders; of two, the first is for x264 and x265."""
    if len(rules) == 1:
        rules *= 3
    elif len(rules) == 2:
        rules = (rules[0], *rules)
    h264, hevc, av1 = rules
    return Parameter(name, kind, default, meaning, nvenc, h264, hevc, av1, codecs, nvenc_text)


_ONE_PASS = ignored("frames are encoded as they come, in one pass")
_HARDWARE = ignored("it sizes the hardware's buffers")
_NO_START = ignored("rate control chooses its first QP itself")
_ANY_COUNT = 2**32 - 1
_NO_SLICES = refused("AV1 has tiles, not slices")
_H26X = ("h264", "hevc")

PARAMETERS: tuple[Parameter, ...] = (
    _row(
        *("codec", Choice(CODECS), "h264", "the stream's codec", ()),
        *(mapped("libx264"), mapped("libx265"), mapped("libsvtav1")),
        nvenc_text="h264_nvenc, hevc_nvenc, av1_nvenc",
    ),
    _row(
        *("bitrate", Bits(), "10000000 with rc cbr or vbr", "bits per second on average", ("b",)),
        *(mapped("bitrate"), mapped("target bit rate; at most 100000000")),
    ),
    _row(
        *("fps", FrameRate(), "30", "frames a second, for rate control and timing", ()),
        mapped("frame rate"),
        nvenc_text="frame rate",
    ),
    _row(
        *("initqp", Quantisers(), "unset", "QP that rate control starts with"),
        *(("init_qpP", "init_qpB", "init_qpI"), _NO_START),
        nvenc_text="with rc vbr; else ignored",
    ),
    _row(
        *("idrperiod", Whole(1, _ANY_COUNT), "gop, or 250", "frames from IDR to IDR", ("g",)),
        mapped("with gop: the smaller one is the IDR period, above 1000000 as 1000000"),
        nvenc_text="with gop, as on the CPU; 0 where it is 1",
    ),
    _row(
        *("constqp", Quantisers(), "28,31,25; 112 for av1"),
        "QP of P, B and I frames with rc constqp",
        ("qp", "i_qfactor", "i_qoffset", "b_qfactor", "b_qoffset"),
        mapped(
            "qp, ipratio, pbratio; I from 19 below P to 39 above, B from 39 below P to 19 above"
        ),
        mapped("qp, a fourth of P's, and key-frame-qindex-offset; P and B must be equal"),
    ),
    _row(
        *("qmin", Quantisers(), "unset", "lowest QP of rate control", ("qmin",)),
        mapped("qpmin; P, B and I must be equal"),
        mapped("min-qp, a fourth of it; P, B and I must be equal"),
        nvenc_text="with rc vbr, P's for all; else ignored",
    ),
    _row(
        *("qmax", Quantisers(), "unset", "highest QP of rate control", ("qmax",)),
        mapped("qpmax; P, B and I must be equal"),
        mapped("max-qp, a fourth of it; P, B and I must be equal"),
        nvenc_text="as qmin, and with it only",
    ),
    _row(
        *("gop", Distance(1, _ANY_COUNT), "idrperiod, or 250", "frames from I frame to I frame"),
        ("g",),
        mapped("keyint, closed, without scene cuts: every I frame of it is an IDR frame"),
    ),
    _row(
        "tuning_info",
        Choice(("high_quality", "low_latency", "ultra_low_latency", "lossless")),
        *("high_quality", "what to tune for", ("tune", "delay")),
        mapped("-, tune zerolatency (both low latencies), qp 0"),
        mapped("-, tune zerolatency (both low latencies), lossless"),
        mapped("-, pred-struct 1 (both low latencies); lossless is refused: SVT-AV1 has none"),
        nvenc_text="hq, ll, ull, lossless; delay 0 (both low latencies)",
    ),
    _row(
        "preset",
        Choice(("P1", "P2", "P3", "P4", "P5", "P6", "P7")),
        *("P4", "fastest (P1) to best (P7)", ("preset",)),
        mapped("ultrafast, superfast, veryfast, fast, medium, slow, slower"),
        mapped("12, 11, 10, 9, 8, 5, 4"),
    ),
    _row(
        *("maxbitrate", Bits(), "unset", "highest bits per second with rc vbr", ("maxrate",)),
        *(mapped("vbv-maxrate, with a VBV buffer of a second unless vbvbufsize says otherwise"),),
        ignored("SVT-AV1 caps the bitrate of constant quality only"),
    ),
    _row(
        *("vbvinit", Bits(), "unset", "bits in the VBV buffer at the start"),
        *((), mapped("vbv-init; at most vbvbufsize")),
        ignored("SVT-AV1 starts with its own"),
        nvenc_text="ignored: libavcodec does not pass it on",
    ),
    _row(
        *("vbvbufsize", Bits(), "bitrate, with rc cbr", "bits of the VBV buffer", ("bufsize",)),
        mapped("vbv-bufsize; with rc vbr and no maxbitrate, twice bitrate is the highest"),
        mapped("buf-sz, with rc cbr"),
    ),
    _row(
        "rc",
        Choice(("cbr", "constqp", "vbr")),
        *("cbr with a bitrate or buffer, else constqp", "rate control", ("rc",)),
        mapped("CQP; ABR with (cbr) or without (vbr) vbv-maxrate at the bitrate"),
        mapped("CQP, VBR, CBR; CBR has pred-struct 1"),
    ),
    _row(
        *("multipass", Choice(("fullres", "qres")), "unset", "two passes over a frame"),
        *(("multipass",), _ONE_PASS),
    ),
    _row(
        *("bf", Whole(0, 16), "the preset's; 0 for low latency"),
        "B-frames in a row: 0 is IPP, 1 IBP, 2 IBBP; PyNvVideoCodec's guide counts one more",
        ("bf",),
        mapped("bframes, b-adapt 0: always as many"),
        mapped("0: pred-struct 1; others are ignored: the pyramid decides"),
        nvenc_text="unset: 2 of h264, 0 of others",
    ),
    _row(
        *("max_res", Size(), "unset", "largest size to reconfigure to", ()),
        _HARDWARE,
        nvenc_text="ignored: libavcodec sizes the buffers",
    ),
    _row(
        *("temporalaq", Whole(0, 1), "the preset's", "quantise by what later frames refer to"),
        ("temporal-aq",),
        *(mapped("mbtree"), mapped("cutree"), ignored("SVT-AV1 always does")),
    ),
    _row(
        *("lookahead", Whole(0, 255), "the preset's", "frames looked ahead"),
        ("rc-lookahead", "no-scenecut"),
        mapped("rc-lookahead, up to 250"),
        mapped("rc-lookahead, up to 250; always more than the B-frames"),
        mapped("lookahead, up to 120"),
    ),
    _row(
        *("aq", Whole(0, 15), "the preset's", "spatial AQ: 0 automatic, 1 weak to 15 strong"),
        ("spatial-aq", "aq-strength"),
        mapped("aq-mode 1, aq-strength an eighth of it; 0 is 1.0"),
        ignored("SVT-AV1 always does, as it sees fit"),
        nvenc_text="aq-strength 8 for 0",
    ),
    _row(
        *("ldkfs", Whole(0, 255), "unset", "growth of a key frame in low latency", ("ldkfs",)),
        ignored("the VBV buffer alone bounds a frame"),
    ),
    _row(
        "colorspace",
        Choice(("bt601", "bt709", "bt2020")),
        "RGB by the frame's size; YUV untagged",
        "matrix that RGB is converted with, and the stream's tags",
        ("colorspace", "color_primaries", "color_trc", "color_range"),
        mapped("matrix, primaries, transfer, and limited range, as the samples are"),
    ),
    _row(
        *("timingInfo::num_unit_in_ticks", Whole(1, 2**31 - 1), "by fps", "time units in a tick"),
        *((), mapped("the stream's timing information; timescale must come with it")),
        nvenc_text="as on the CPU",
    ),
    _row(
        *("timingInfo::timescale", Whole(1, 2**31 - 1), "by fps", "time units in a second"),
        *((), mapped("the stream's timing information")),
        nvenc_text="as on the CPU",
    ),
    _row(
        "slice::mode",
        Whole(0, 3),
        "0",
        "slices by 0 macroblocks, 1 bytes, 2 macroblock rows, 3 their number",
        (),
        mapped("slice-max-mbs (0 and 2), slice-max-size, slices"),
        mapped("slices; modes 0, 1 and 2 are refused: x265 has none"),
        _NO_SLICES,
        codecs=_H26X,
        nvenc_text="3 with data 1; others are refused: libavcodec passes none on",
    ),
    _row(
        *("slice::data", Whole(0, _ANY_COUNT), "0", "how many of them; 0: one slice", ()),
        *(mapped("see slice::mode"), mapped("see slice::mode"), _NO_SLICES),
        codecs=_H26X,
        nvenc_text="see slice::mode",
    ),
    _row(
        *("repeatspspps", Whole(0, 1), "0", "parameter sets before every IDR frame", ()),
        *(mapped("put before every IDR frame, or the first only"),) * 2,
        refused("AV1 repeats its sequence header anyway"),
        codecs=_H26X,
        nvenc_text="as on the CPU",
    ),
    _row(
        *("gpu_id", Whole(0, 255), "the first with NVENC", "the GPU that encodes", ()),
        mapped("no GPU encodes"),
        nvenc_text="its primary CUDA context",
    ),
)

# With 0, PyNvVideoCodec's samples leave these unset.
UNSET_BY_ZERO = ("initqp", "maxbitrate", "qmax", "qmin", "vbvbufsize", "vbvinit")

BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}

# PyNvVideoCodec 2 has these other names, and its guide has gpuid.
ALIASES = {
    "gpuid": "gpu_id",
    "slice_mode": "slice::mode",
    "slice_data": "slice::data",
    "num_unit_in_ticks": "timingInfo::num_unit_in_ticks",
    "timescale": "timingInfo::timescale",
}

# These dictionaries hold several parameters.
GROUPS = {"slice": "slice::", "timinginfo": "timingInfo::", "timingInfo": "timingInfo::"}


def _cell(rule: Rule) -> str:
    return rule.text if rule.how == "mapped" else f"{rule.how}: {rule.text}"


def as_markdown() -> str:
    """Returns the table of docs/pynvvideocodec_encoding.md."""
    head = ("parameter", "takes", "default", "means", "libx264", "libx265", "libsvtav1", "NVENC")
    rows = [head, ("---",) * len(head)]
    for row in PARAMETERS:
        takes = row.kind.allowed("h264")
        if isinstance(row.kind, Quantisers):
            takes = takes.replace("51", "51 (255 for av1)", 1)
        cells = [_cell(row.rule(codec)) for codec in CODECS]
        nvenc = "; ".join(filter(None, (", ".join(row.nvenc), row.nvenc_text)))
        rows.append((f"`{row.name}`", takes, row.default, row.meaning, *cells, nvenc))
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)
