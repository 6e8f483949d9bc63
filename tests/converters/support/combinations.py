"""Which models are converted on a GPU at which precision and in which mode: "implicit" and
"explicit" batch in dynamic mode, or "static".

With TF_NVCODEC_ALL_CONVERSIONS set, every model is converted in all ways that TF-TRT has:
benchmarks/results/h200/gpu_tests.md has the table.
"""

from __future__ import annotations

import itertools
import os

Combination = tuple[str, str, str]  # model, precision, mode

MODES = ("implicit", "explicit", "static")
PRECISIONS = ("FP32", "FP16", "INT8")
# TF-TRT calibrates in dynamic mode only.
WAYS = [way for way in itertools.product(PRECISIONS, MODES) if way != ("INT8", "static")]

# Each model with each precision, and with each mode, at least once (with OWN_TESTS).
SMALL: list[Combination] = [
    ("gap", "FP32", "static"),
    ("gap", "FP16", "explicit"),
    ("gap", "INT8", "implicit"),
    ("two_inputs", "FP32", "implicit"),
    ("two_inputs", "FP16", "static"),
    ("two_inputs", "INT8", "explicit"),
    ("two_signatures", "FP32", "static"),
    ("two_signatures", "INT8", "explicit"),
    ("frozen", "FP16", "explicit"),
    ("frozen", "INT8", "implicit"),
]
# What tests of test_convert_gpu.py convert for something else.
OWN_TESTS: list[Combination] = [
    *(("digits", *way) for way in WAYS),
    ("gap", "FP16", "implicit"),
    ("two_inputs", "FP32", "explicit"),
    ("two_signatures", "FP16", "implicit"),
    ("frozen", "FP32", "static"),
    ("frozen", "FP16", "static"),
]
APPLICATIONS: list[Combination] = [
    ("ResNet50", "FP32", "static"),
    ("MobileNetV2", "FP16", "explicit"),
    ("VGG16", "INT8", "implicit"),
    ("InceptionV3", "FP32", "implicit"),
]


def chosen(some: list[Combination]) -> list[Combination]:
    """These, or all ways of their models."""
    if not os.environ.get("TF_NVCODEC_ALL_CONVERSIONS"):
        return some
    return [(model, *way) for model in dict.fromkeys(m for m, _, _ in some) for way in WAYS]
