"""Whether a converted model is right: its outputs, and that its saved engines run."""
