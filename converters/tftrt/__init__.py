"""The part of a conversion that needs TF-TRT: segment, calibrate, build, save."""
