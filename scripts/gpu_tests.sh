#!/bin/bash
# Runs the tests marked gpu on all GPUs of this machine at once, PER_GPU (2) processes on each, what
# takes longest first; a test that finds no GPU fails. All ways in which a test converts a model share
# a process, so that TensorRT is started, and measures each kernel, once; so do the other tests of a
# file. Measurements of memory are certain only with GPUS=0 PER_GPU=1.
# Arguments choose tests, as for pytest:
#     scripts/gpu_tests.sh                                   # all
#     GPUS="2 3" scripts/gpu_tests.sh tests/converters -k bisect
# Output goes to build/log/gpu_tests/, a log for each process. AGAIN=1 leaves out processes of which
# all tests passed before.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python="${TF_NVCODEC_PYTHON:-$VENV/bin/python}"
logs="$LOG_DIR/gpu_tests"
read -ra gpus <<<"${GPUS:-$(nvidia-smi --query-gpu=index --format=csv,noheader | tr '\n' ' ')}"
((${#gpus[@]})) || die "nvidia-smi lists no GPU"
# Those that this process may use, for each GPU an equal part.
cores="$("$python" -c 'import os; print(*sorted(os.sched_getaffinity(0)))')"
export TF_NVCODEC_REQUIRE_GPU=1 TF_FORCE_GPU_ALLOW_GROWTH=true
export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
mkdir -p "$logs"

collect() {
  local listed code=0
  listed="$("$python" -m pytest --collect-only -q -m gpu -p no:cacheprovider "$@" 2>/dev/null)" ||
    code=$?
  # 5: there is none.
  if ((code != 0 && code != 5)); then die "collecting the tests failed:"$'\n'"$listed"; fi
  grep :: <<<"$listed" || true
}
(($#)) || set -- tests
# GROUP, a tab, TEST: a group for each conversion without its precision and mode, and for each file.
grouped() {
  awk '{
    group = $0
    way = /^tests\/converters\// && sub(/[[-][A-Z0-9]+-[a-z]+\]$/, "", group)
    if (!way) sub(/::.*/, "", group)
    print group "\t" $0
  }'
}
found="$(mktemp "$logs/tests.XXXXXX")" # one for each run of this script
trap 'rm -f "$found"' EXIT
tests="$(collect "$@")"
grouped <<<"$tests" | grep :: >"$found" || die "no test marked gpu in: $*"
mapfile -t groups < <(cut -f 1 "$found" | awk '!seen[$0]++')

# Many conversions in one test, then large networks, then the other conversions, then the rest.
ordered() {
  local patterns=(bisect applications converters) rest=("${groups[@]}") pattern group kept
  for pattern in "${patterns[@]}"; do
    kept=()
    for group in "${rest[@]}"; do
      if [[ "$group" == *"$pattern"* ]]; then echo "$group"; else kept+=("$group"); fi
    done
    rest=("${kept[@]}")
  done
  if ((${#rest[@]})); then printf '%s\n' "${rest[@]}"; fi
}

one() { # GROUP, on the GPU and the cores of this process's slot
  local gpus cores part number visible name log tests code=0 began=$SECONDS verdict=passed
  read -ra gpus <<<"$GPU_NAMES"
  read -ra cores <<<"$CORES"
  part=$((${#cores[@]} / ${#gpus[@]}))
  number=$((SLOT % ${#gpus[@]}))
  if ((part)); then cores=("${cores[@]:number * part:part}"); fi
  visible="${gpus[number]}"
  if [[ "$1" == *two_gpus* ]]; then visible="$(IFS=,; echo "${gpus[*]}")"; fi
  name="$(printf '%s' "$1" | tr -c 'A-Za-z0-9._-' '_')"
  log="$LOGS/$name.log"
  mapfile -t tests < <(GROUP="$1" awk -F '\t' '$1 == ENVIRON["GROUP"] { print $2 }' "$TESTS")
  ((${#tests[@]})) || return 1
  if [[ -n "${AGAIN:-}" && -f "$LOGS/$name.passed" ]] &&
    ! printf '%s\n' "${tests[@]}" | grep -qvxFf "$LOGS/$name.passed"; then return; fi
  rm -f "$LOGS/$name.passed"
  CUDA_VISIBLE_DEVICES="$visible" taskset -c "$(IFS=,; echo "${cores[*]}")" \
    "$PYTHON_PROGRAM" -m pytest -q -rs -m gpu -p no:cacheprovider "${tests[@]}" >"$log" 2>&1 </dev/null ||
    code=$?
  if ((code)); then verdict=FAILED; else printf '%s\n' "${tests[@]}" >"$LOGS/$name.passed"; fi
  printf '%s  GPU %s  %4d s  %s: %s\n' "$verdict" "$visible" $((SECONDS - began)) "$1" \
    "$(tail -n 1 "$log")"
  return $((code != 0))
}
export -f one
export LOGS="$logs" TESTS="$found" CORES="$cores" PYTHON_PROGRAM="$python" GPU_NAMES="${gpus[*]}"
say "${#groups[@]} processes on GPUs ${gpus[*]}, ${PER_GPU:-2} at a time on each"
code=0
ordered | xargs -d '\n' -P $((${#gpus[@]} * ${PER_GPU:-2})) --process-slot-var=SLOT -n 1 \
  bash -c 'one "$1"' _ || code=$?
((code == 0)) || die "some failed; their logs are in $logs"
say "all passed"
