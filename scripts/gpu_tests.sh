#!/bin/bash
# Runs the tests marked gpu on all GPUs of this machine at once, PER_GPU (2) processes on each, what
# takes longest first; a test that finds no GPU fails. A process runs one test after another, so that
# TensorRT is started, and measures each kernel, once in it. Tests marked `alone` run after the
# others, one by one in a process that has all GPUs.
# Conversions that take turns at a GPU slow each other down more than they gain; MPS=1 lets the
# processes of a GPU use it at once, by NVIDIA's Multi-Process Service.
# Arguments choose tests, as for pytest:
#     scripts/gpu_tests.sh                                   # all
#     GPUS="2 3" scripts/gpu_tests.sh tests/gpu -k pool
#     MPS=1 PER_GPU=5 scripts/gpu_tests.sh tests/converters
# build/log/gpu_tests/ has a line for each test that has run, as soon as it has, in outcomes.tsv, and
# a file of what each failure said. AGAIN=1 leaves out the tests that passed before.
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
  # Of a test that hangs in C++, only another thread can end the process; the next one goes on.
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
# One test ahead at most: the last ones are spread too.
run -n "$workers" "$@"
export GPU_TESTS_ALONE=1
CUDA_VISIBLE_DEVICES="$(IFS=,; echo "${gpus[*]}")" run -n 1 "$@"
((ran)) || die "no test marked gpu${AGAIN:+ that has not passed before}: $*"
((failed == 0)) || die "some failed; what they said is in $logs"
say "all passed"
