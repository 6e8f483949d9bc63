"""The old name of converters.repeat_check, which every older repeat.sh runs."""

import sys

from converters.repeat_check import check_unchanged, main

__all__ = ["check_unchanged", "main"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
