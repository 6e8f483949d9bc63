#!/bin/bash
# Builds the portable wheel for each TensorFlow of scripts/tensorflows.txt and tries it with each
# Python that this TensorFlow has wheels for and that is on PATH. The wheels go to dist/release.
#     scripts/release.sh                    # all of the table
#     scripts/release.sh 2.17.1 2.21.0      # these
#     scripts/release.sh 2.17.1:3.11        # with this Python alone, as CI does
#     FLAVOUR=portable-gpl scripts/release.sh
export FLAVOUR="${FLAVOUR:-portable}"
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

release="$ROOT/dist/release"
work="$ROOT/build/release"
summary="$work/summary.txt"
limit_mb=30
mkdir -p "$release" "$work"
rm -f "$summary"
failed=0
note() { printf '%s\n' "$*" | tee -a "$summary"; }

# python_of 3.11: prints an interpreter of this version.
python_of() {
  local candidate
  for candidate in "python$1" "$PYTHON"; do
    if [[ "$(version_of "$candidate")" == "$1" ]]; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# build TF PYTHON: sets wheel. Like try, it is called where a failed command does not end the script.
build() {
  local begin=$SECONDS tagged
  if [[ -f "$(venv_of "$1")/.requirements" ]]; then # the one that `make test TF=...` made
    TF="$1" PYTHON=python3 scripts/wheel_portable.sh || return 1
  else
    TF="$1" PYTHON="$2" REQUIREMENTS=build TF_NVCODEC_VENV="$work/build-$1" \
      scripts/wheel_portable.sh || return 1
    # It has nothing that pip's cache does not have.
    rm -rf "$work/build-$1"
  fi
  tagged=("$ROOT/dist/$1-$FLAVOUR"/*manylinux*.whl)
  wheel="$release/${tagged[0]##*/}"
  rm -f "${wheel%-none-*}"-none-* # of an earlier build, perhaps with another tag
  cp "${tagged[0]}" "$wheel" || return 1
  local mb=$((($(stat -c %s "$wheel") + 500000) / 1000000))
  if [[ "$(revision)" == *-dirty ]]; then
    note "  warning: files differ from the commit, and the wheel says so; not to be published"
  fi
  note "TensorFlow $1: ${wheel##*/}, $mb MB, built in $((SECONDS - begin)) s"
  if ((mb > limit_mb)); then
    note "  failed: the wheel is larger than $limit_mb MB"
    return 1
  fi
}

# try TF VERSION PYTHON: installs $wheel in a new environment and runs the smoke test there.
try() {
  local venv="$work/$1-$2" log="smoke-$1-$2" report="$work/report.json" begin tensorflow ours
  rm -rf "$venv"
  logged "$log" "$3" -m venv "$venv" || return 1
  begin=$SECONDS
  logged "$log" "$venv/bin/python" -m pip install "tensorflow==$1" || return 1
  tensorflow=$((SECONDS - begin))
  begin=$SECONDS
  logged "$log" "$venv/bin/python" -m pip install "$wheel" || return 1
  ours=$((SECONDS - begin))
  # A folder without our sources; a user's settings could bring in another library.
  (cd "$work" && env -u PYTHONPATH -u TF_NVCODEC_LIBRARY "$venv/bin/python" \
    "$ROOT/tests/package/smoke.py" --report "$report") || return 1
  note "  Python $2: passed; install $ours s (TensorFlow before it $tensorflow s); $(tr -d '{}"' <"$report")"
  rm -rf "$venv"
}

chosen=("$@")
# wants TF [PYTHON]: whether the command line names it, or names nothing.
wants() {
  local one
  if ((${#chosen[@]} == 0)); then return; fi
  for one in "${chosen[@]}"; do
    if [[ "${one%:*}" == "$1" && ($# -eq 1 || "$one" != *:* || "${one#*:}" == "$2") ]]; then return; fi
  done
  return 1
}

for one in "${chosen[@]}"; do
  grep -q "^${one%:*} " scripts/tensorflows.txt ||
    die "TensorFlow ${one%:*} is not in scripts/tensorflows.txt"
done
cells=0
while read -r -u 3 tf minors; do
  wants "$tf" || continue
  versions=()
  pythons=()
  for minor in $minors; do
    wants "$tf" "3.$minor" || continue
    if python="$(python_of "3.$minor")"; then
      versions+=("3.$minor")
      pythons+=("$python")
    else
      note "TensorFlow $tf: not tried with Python 3.$minor, which is not on PATH"
    fi
  done
  ((${#pythons[@]} > 0)) || continue
  if ! build "$tf" "${pythons[-1]}"; then
    note "TensorFlow $tf: the build failed"
    failed=1
    continue
  fi
  for i in "${!pythons[@]}"; do
    ((++cells))
    if ! try "$tf" "${versions[i]}" "${pythons[i]}"; then
      note "  Python ${versions[i]}: FAILED"
      failed=1
    fi
  done
done 3< <(grep -v '^#' scripts/tensorflows.txt)
((cells > 0)) || die "no wheel was tried"
say "in all:"
cat "$summary"
((failed == 0))
