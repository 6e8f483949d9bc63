"""Lets `python -m converters` stand in for `trt-convert`."""

import sys

from converters.cli import main

if __name__ == "__main__":
    sys.exit(main())
