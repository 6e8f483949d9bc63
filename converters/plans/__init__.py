"""TensorRT plans taken out of a converted model, and run without TensorFlow."""
