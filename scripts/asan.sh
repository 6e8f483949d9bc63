#!/bin/bash
# Runs the C++ tests, the damaged inputs and the datasets under GCC's address and undefined-behaviour
# sanitizers. Arguments go to pytest; `-m ""` adds the tests marked slow.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/setup.sh
need g++ pkg-config libgtest-dev libgmock-dev ffmpeg
"$VENV/bin/python" tests/golden/make_clips.py # some C++ tests look for them too
scripts/bazel.sh test --config=asan //tests/...

scripts/bazel.sh build --config=asan //tf_nvcodec:libtf_nvcodec.so //build_defs:build_info
mkdir -p "$BUILD_DIR/asan"
for file in tf_nvcodec/libtf_nvcodec.so build_defs/build_info.json; do
  install -m 644 "$BUILD_DIR/bazel-bin/$file" "$BUILD_DIR/asan/${file##*/}"
done

say "damaged inputs and datasets through the sanitized library"
# Symbolic checkpoints pass absl's maps to TensorFlow, which have another layout under the sanitizers.
# Python is not built with the sanitizers, so their run-time libraries have to be there before it.
# Python and TensorFlow free little at exit: leaks are left to the C++ tests.
sanitized=(env
  "LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)"
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16
  UBSAN_OPTIONS=print_stacktrace=1
  "TF_NVCODEC_LIBRARY=$BUILD_DIR/asan/libtf_nvcodec.so")
empty="$(mktemp -d)"
trap 'rm -rf "$empty"' EXIT
cd "$empty"
"${sanitized[@]}" "$VENV/bin/python" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" \
  -n "${JOBS:-$(nproc)}" --maxprocesses 8 --dist loadfile -m "not slow" -k "not symbolic" \
  "$ROOT"/tests/decode/test_{bad_input,decode_clips}.py \
  "$ROOT"/tests/dataset/test_dataset_{checkpoint,contract,errors}.py "$@"
