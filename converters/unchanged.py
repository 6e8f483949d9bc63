"""The old name of converters.repeat_check: every repeat.sh that is written already runs it."""

import sys

from converters.repeat_check import check_unchanged, main

__all__ = ["check_unchanged", "main"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
