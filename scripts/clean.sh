#!/bin/bash
# Removes everything the scripts made but the virtual environments.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [[ -f build/bazel/choice ]]; then
  for base in build/bazel/[0-9]*; do
    if [[ -d "$base/server" ]]; then
      "$(cat build/bazel/choice)" --output_base="$ROOT/$base" shutdown
    fi
  done
  # Bazel makes its outputs read-only.
  chmod -R u+w build/bazel
fi
rm -rf build dist out tf_nvcodec.egg-info
