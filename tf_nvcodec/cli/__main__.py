"""Lets `python -m tf_nvcodec.cli` stand in for `tf-nvcodec`."""

import sys

from tf_nvcodec.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
