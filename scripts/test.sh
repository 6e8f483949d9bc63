#!/bin/bash
# Runs the C++ tests, then the Python tests against the installed wheel from an empty folder.
# Arguments go to pytest: make setup && scripts/test.sh -k probe
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

need g++ pkg-config libgtest-dev libgmock-dev ffmpeg
say "test clips"
"$VENV/bin/python" tests/golden/make_clips.py  # some C++ tests look for them too
scripts/bazel.sh test //tests/...

others=()
if [[ "$TF" != "$DEFAULT_TF" ]]; then
  # These go by the library's C functions, whatever TensorFlow it is built for.
  for part in dec demux encod mux simple threaded trans; do
    others+=(--ignore-glob="$ROOT/tests/compat/test_$part*")
  done
fi

empty="$(mktemp -d)"
trap 'rm -rf "$empty"' EXIT
cd "$empty"
say "pytest with TensorFlow $TF"
"$VENV/bin/python" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" "$ROOT/tests" \
  "${others[@]}" "$@"
