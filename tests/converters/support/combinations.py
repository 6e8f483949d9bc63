"""Lists which model the GPU tests convert at which precision and in which mode. The modes are
"implicit" and "explicit" batch in dynamic mode, and "static".

If TF_NVCODEC_ALL_CONVERSIONS is set, the tests convert every model in all ways that TF-TRT has.
benchmarks/results/h200/gpu_tests.md has the results.
"""

from __future__ import annotations

import itertools
import os

Combination = tuple[str, str, str]  # model, precision, mode

MODES = ("implicit", "explicit", "static")
PRECISIONS = ("FP32", "FP16", "INT8")
# All ways but static INT8, because TF-TRT calibrates in dynamic mode only.
WAYS = [way for way in itertools.product(PRECISIONS, MODES) if way != ("INT8", "static")]

# Together with OWN_TESTS, each model is converted at each precision and in each mode at least once.
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
# Other tests of test_convert_gpu.py convert these for a purpose of their own.
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
    """Returns `some`, or all ways to convert their models if the variable is set."""
    if not os.environ.get("TF_NVCODEC_ALL_CONVERSIONS"):
        return some
    return [(model, *way) for model in dict.fromkeys(m for m, _, _ in some) for way in WAYS]
