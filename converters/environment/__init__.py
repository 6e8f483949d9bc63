"""What this machine has: TensorFlow, TensorRT, CUDA, GPUs, and how their libraries are found."""
