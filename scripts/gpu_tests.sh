#!/bin/bash
# Runs the tests marked gpu on all GPUs of this machine at once. Each GPU has PER_GPU (2) processes, and
# the longest tests start first. A test that finds no GPU fails. A process runs one test after another, so
# TensorRT starts, and measures each kernel, once in a process. Tests marked `alone` run after the others,
# one by one, in a process that has all GPUs.
# Conversions that take turns on a GPU slow each other down more than they gain. With MPS=1 the processes
# of a GPU use it at once, through NVIDIA's Multi-Process Service.
# Arguments go to pytest:
#     scripts/gpu_tests.sh                                   # all
#     GPUS="2 3" scripts/gpu_tests.sh tests/gpu -k pool
#     MPS=1 PER_GPU=5 scripts/gpu_tests.sh tests/converters
# In build/log/gpu_tests/, outcomes.tsv gets a line when a test ends, and each failure has a file with its
# output. AGAIN=1 leaves out the tests that passed before.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python="${TF_NVCODEC_PYTHON:-$VENV/bin/python}"
logs="$LOG_DIR/gpu_tests"
read -ra gpus <<<"${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | tr '\n' ' ')}"
((${#gpus[@]})) || die "nvidia-smi lists no GPU"
workers=$((${#gpus[@]} * ${PER_GPU:-2}))
export GPU_TESTS_GPUS="${gpus[*]}" GPU_TESTS_LOGS="$logs"
export TF_NVCODEC_REQUIRE_GPU=1 TF_FORCE_GPU_ALLOW_GROWTH=true
export PYTHONPATH="$ROOT/tests/gpu:$ROOT${PYTHONPATH:+:$PYTHONPATH}"
mkdir -p "$logs"
if [[ -z "${AGAIN:-}" ]]; then
  rm -f "$logs"/*
elif [[ -f "$logs/outcomes.tsv" ]]; then
  cp "$logs/outcomes.tsv" "$logs/before.tsv"
fi
(($#)) || set -- tests

if [[ -n "${MPS:-}" ]]; then
  GPU_TESTS_MPS="$(mktemp -d)" # a socket's path must be short
  export GPU_TESTS_MPS
  daemon() { # GPU ARGUMENTS...
    CUDA_MPS_PIPE_DIRECTORY="$GPU_TESTS_MPS/$1" CUDA_MPS_LOG_DIRECTORY="$GPU_TESTS_MPS/$1" \
      CUDA_VISIBLE_DEVICES="$1" nvidia-cuda-mps-control "${@:2}"
  }
  end_mps() {
    for gpu in "${gpus[@]}"; do echo quit | daemon "$gpu" >/dev/null 2>&1 || true; done
    rm -rf "$GPU_TESTS_MPS"
  }
  trap end_mps EXIT
  for gpu in "${gpus[@]}"; do
    mkdir "$GPU_TESTS_MPS/$gpu"
    daemon "$gpu" -d || die "nvidia-cuda-mps-control does not start for GPU $gpu"
  done
fi

ran=0
failed=0
run() { # pytest's options...
  local code=0
  # Only another thread can end a test that hangs in C++. A new process runs the next test.
  "$python" -m pytest -m gpu -p gpu_workers -p no:cacheprovider -o timeout_method=thread \
    --continue-on-collection-errors --max-worker-restart 100 --dist load --maxschedchunk 1 \
    -v -rs "$@" </dev/null || code=$?
  case "$code" in
    0) ran=1 ;;
    5) ;; # there is none
    *) ran=1 failed=1 ;;
  esac
}
say "$workers processes on GPUs ${gpus[*]}"
# Workers get one test at a time, so that the last tests are spread, too.
run -n "$workers" "$@"
export GPU_TESTS_ALONE=1
CUDA_VISIBLE_DEVICES="$(IFS=,; echo "${gpus[*]}")" run -n 1 "$@"
((ran)) || die "no test marked gpu${AGAIN:+ that has not passed before}: $*"
((failed == 0)) || die "some tests failed; their output is in $logs"
say "all passed"
