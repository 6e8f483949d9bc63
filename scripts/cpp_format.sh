#!/bin/bash
# Runs clang-format on the C++ sources with the given arguments.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

find tf_nvcodec tests \( -name '*.cc' -o -name '*.h' \) -print0 | xargs -0 clang-format "$@"
