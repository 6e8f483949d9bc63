#!/bin/bash
# Runs the fuzz targets of tests/fuzz for $MINUTES minutes together, or $TARGET alone. Corpora, logs
# and the inputs of failures are in build/$TF/fuzz/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

scripts/venv.sh
need clang libclang-rt-14-dev g++ pkg-config libgtest-dev libgmock-dev ffmpeg
scripts/bazel.sh build --config=fuzz //tests/fuzz:fuzzer //tests/fuzz:write_seeds
folder="$BUILD_DIR/fuzz"
mkdir -p "$folder"

# Beside the virtual environment, because only this script needs it.
key="$(hash_of requirements/fuzz.txt) $("$VENV/bin/python" --version)"
if ! is_done "$folder/python.stamp" "$key"; then
  rm -rf "$folder/python"
  logged pip-fuzz "$VENV/bin/python" -m pip install --no-deps --target "$folder/python" \
    --requirement requirements/fuzz.txt
  mark_done "$folder/python.stamp" "$key"
fi

say "fuzzing for ${MINUTES:-2} minutes"
"$VENV/bin/python" tests/fuzz/run_targets.py --programs "$BUILD_DIR/bazel-bin/tests/fuzz" \
  --build "$folder" --minutes "${MINUTES:-2}" --jobs "${JOBS:-$(nproc)}" ${TARGET:+"$TARGET"}
