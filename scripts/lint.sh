#!/bin/bash
# Checks formatting (clang-format, ruff), Python style (ruff) and type hints (mypy).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/venv.sh
need clang-format
say "clang-format $(clang-format --version | grep -o '[0-9.]*' | head -n 1)"
find tf_nvcodec tests \( -name '*.cc' -o -name '*.h' \) -print0 |
  xargs -0 clang-format --dry-run -Werror
say "ruff"
"$VENV/bin/ruff" check .
"$VENV/bin/ruff" format --check .
say "mypy"
"$VENV/bin/mypy"
