"""What users import to run a TensorRT plan from Python: see converters.plans."""

from converters.plans.gpu_tensor import GpuTensor
from converters.plans.plan_pool import PlanPool
from converters.plans.plan_runner import PlanRunner

__all__ = ["GpuTensor", "PlanPool", "PlanRunner"]
