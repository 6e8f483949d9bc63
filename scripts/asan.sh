#!/bin/bash
# Runs the C++ tests under GCC's address and undefined-behaviour sanitizers.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/venv.sh
need g++ pkg-config libavformat-dev libavcodec-dev libavutil-dev libswscale-dev \
  libffmpeg-nvenc-dev libgtest-dev libgmock-dev
scripts/bazel.sh test --config=asan //tests/...
