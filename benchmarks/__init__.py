"""Benchmarks of tf_nvcodec beside its peers; see README.md in this folder."""
