"""What users import for their data: see converters.inputs."""

from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.inputs.data_sources import VideoFiles

__all__ = ["Batch", "InputSpec", "VideoFiles", "batches"]
