"""What users import to set the differences that verification allows: see converters.checks."""

from converters.checks.differences import compare_arrays
from converters.spec.thresholds import Thresholds, default_thresholds

__all__ = ["Thresholds", "compare_arrays", "default_thresholds"]
