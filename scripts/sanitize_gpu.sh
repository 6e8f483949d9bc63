#!/bin/bash
# Runs the GPU's colour kernel under NVIDIA's compute-sanitizer. It needs that program and a GPU. Its
# four tools run at the same time, at most TIMEOUT seconds, each with a log in build/log/.
#     scripts/sanitize_gpu.sh [path/to/gpu_frame_device_test]     # built here, or elsewhere
# TF_NVCODEC_NVRTC names the folder of libnvrtc if the loader does not find it. COMPUTE_SANITIZER
# names the program if it is neither in PATH nor in a CUDA toolkit in /usr/local.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

TIMEOUT="${TIMEOUT:-240}"
sanitizer="${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || true)}"
for place in /usr/local/cuda{,-*}/{bin,compute-sanitizer}/compute-sanitizer; do
  if [[ -z "$sanitizer" && -x "$place" ]]; then sanitizer="$place"; fi
done
[[ -x "$sanitizer" ]] || die "no compute-sanitizer in PATH or /usr/local/cuda; it comes with the" \
  "CUDA toolkit (the package nvidia-cuda-sanitizer-api of PyPI lacks the helper that starts programs)"

if (($# > 0)); then
  test="$(readlink -f "$1")"
  [[ -x "$test" ]] || die "$1 is no program"
else
  scripts/bazel.sh build //tests/nv/convert:gpu_frame_device_test
  test="$(readlink -f "$BUILD_DIR/bazel-bin/tests/nv/convert/gpu_frame_device_test")"
fi

# Without a GPU the tests are skipped, which proves nothing.
export TF_NVCODEC_REQUIRE_GPU=1
"$sanitizer" --version | tail -n 1
mkdir -p "$LOG_DIR"
tools=(memcheck racecheck initcheck synccheck)
declare -A jobs
for tool in "${tools[@]}"; do
  timeout "$TIMEOUT" "$sanitizer" --tool "$tool" --error-exitcode 1 --print-limit 20 \
    "$test" --gtest_filter='-*TimeOf*' >"$LOG_DIR/sanitize-$tool.log" 2>&1 </dev/null &
  jobs[$tool]=$!
done
failed=()
for tool in "${tools[@]}"; do
  code=0
  wait "${jobs[$tool]}" || code=$?
  say "$tool: exit status $code"
  grep -E '^=========|^\[  (PASSED|FAILED)' "$LOG_DIR/sanitize-$tool.log" | head -n 40 || true
  if ((code)); then
    failed+=("$tool")
    tail -n 15 "$LOG_DIR/sanitize-$tool.log"
  fi
done
if ((${#failed[@]})); then die "not clean, or not run (124: after $TIMEOUT s): ${failed[*]}"; fi
say "no errors"
