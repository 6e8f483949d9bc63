#!/bin/bash
# Formats C++ and Python in place, and fixes what ruff can fix by itself.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/venv.sh
need clang-format
scripts/cpp_format.sh -i
"$VENV/bin/ruff" check --fix .
"$VENV/bin/ruff" format .
