"""What users import to say where labelled data is: see converters.inputs.labelled_data."""

from converters.inputs.labelled_data import LabelledData
from converters.inputs.labelled_images import ImageOptions

__all__ = ["ImageOptions", "LabelledData"]
