#!/bin/bash
# Removes everything that the scripts made, except the virtual environments.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for base in build/bazel/[0-9]*; do
  # The server of an output base writes its process id into this file.
  pid="$(cat "$base/server/server.pid.txt" 2>/dev/null)" || continue
  # The number may be another process's by now.
  if grep -qsF "$ROOT/$base" "/proc/$pid/cmdline"; then
    kill "$pid" 2>/dev/null || true
    timeout 30 tail --pid="$pid" -f /dev/null || true
  fi
done
# Bazel makes its outputs read-only.
if [[ -d build ]]; then chmod -R u+w build; fi
rm -rf build dist out tf_nvcodec.egg-info
