"""TF-TRT's conversions, with and without `converters`."""
