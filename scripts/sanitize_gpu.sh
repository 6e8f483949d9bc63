#!/bin/bash
# Runs the GPU's colour and deinterlacing kernels under NVIDIA's compute-sanitizer, where that and a GPU are.
# TF_NVCODEC_NVRTC names the folder of libnvrtc if it is not where the loader looks.
# A test built elsewhere can be named: scripts/sanitize_gpu.sh path/to/gpu_frame_device_test
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sanitizer="$(command -v compute-sanitizer || true)"
for place in /usr/local/cuda/bin /usr/local/cuda/compute-sanitizer; do
  if [[ -z "$sanitizer" && -x "$place/compute-sanitizer" ]]; then
    sanitizer="$place/compute-sanitizer"
  fi
done
[[ -n "$sanitizer" ]] || die "compute-sanitizer is not installed; it comes with the CUDA toolkit" \
  "(Debian: apt-get install -y nvidia-cuda-toolkit)"

if (($# > 0)); then
  test="$(readlink -f "$1")"
  [[ -x "$test" ]] || die "$1 is no program"
else
  scripts/bazel.sh build //tests/nv:gpu_frame_device_test
  test="$(readlink -f "$BUILD_DIR/bazel-bin/tests/nv/gpu_frame_device_test")"
fi

# Without a GPU the test would be skipped, which proves nothing.
export TF_NVCODEC_REQUIRE_GPU=1
failed=()
for tool in memcheck racecheck initcheck synccheck; do
  say "$tool"
  "$sanitizer" --tool "$tool" --error-exitcode 1 --print-limit 20 \
    "$test" --gtest_filter='-*TimeOf*' || failed+=("$tool")
done
if ((${#failed[@]})); then die "compute-sanitizer found errors: ${failed[*]}"; fi
say "no errors"
