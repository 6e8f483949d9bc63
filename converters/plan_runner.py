"""What users import to run a TensorRT plan from Python: see converters.plans."""

from converters.plans.plan_runner import PlanRunner

__all__ = ["PlanRunner"]
