"""INT8: calibration tables, quantize nodes, and the proof that INT8 kernels run."""
