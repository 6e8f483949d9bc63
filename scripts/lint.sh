#!/bin/bash
# Checks formatting (clang-format, ruff), Python style (ruff) and type hints (mypy).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/venv.sh
need clang-format
failed=()
check() {
  say "$1"
  "${@:2}" || failed+=("$1")
}
check "clang-format" scripts/cpp_format.sh --dry-run -Werror
check "ruff check" "$VENV/bin/ruff" check .
check "ruff format" "$VENV/bin/ruff" format --check .
check "mypy" "$VENV/bin/mypy"
if ((${#failed[@]})); then die "failed: ${failed[*]} (make format mends formatting)"; fi
