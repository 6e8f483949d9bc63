"""Video in and out of TensorFlow: probe, decode and encode ops in C++."""

import os
import sys

from tf_nvcodec.version import __version__  # noqa: F401

# Importing this package registers the ops, which loading a SavedModel that uses them takes. Only
# the command line waits until a command needs them (cli/runtime.py): --help stays quick, and
# `tf-nvcodec doctor` works where TensorFlow or the op library does not import.
if not sys.argv or os.path.basename(sys.argv[0]) != "tf-nvcodec":
    from tf_nvcodec.api import *  # noqa: F403
