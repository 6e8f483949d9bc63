"""inspect_model and its report: as data, text, HTML and TensorBoard files."""
