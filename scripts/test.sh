#!/bin/bash
# Runs the C++ tests, then the Python tests against the installed wheel from an empty folder.
#     make setup && scripts/test.sh -k probe      # arguments go to pytest
# TESTS=quick, the default, leaves out the Python tests marked slow. TESTS=slow runs those alone,
# without the C++ tests; TESTS=all runs everything. JOBS Python processes share the tests.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

case "${TESTS:-quick}" in
  quick) chosen=" and not slow" ;;
  slow) chosen=" and slow" ;;
  all) chosen="" ;;
  *) die "TESTS must be quick, slow or all, not $TESTS" ;;
esac
JOBS="${JOBS:-$(nproc)}"

# Triton's Python backend links libpython, without which Debian's interpreter comes.
need_libpython() {
  local version folder
  read -r version folder < <("$VENV/bin/python" -c 'import sys, sysconfig
print("%d.%d" % sys.version_info[:2], sysconfig.get_config_var("LIBDIR"))')
  [[ -e "$folder/libpython$version.so.1.0" ]] || /sbin/ldconfig -p |
    grep -q "libpython$version.so.1.0" || need "libpython$version"
}

need g++ pkg-config libgtest-dev libgmock-dev ffmpeg openssl
if [[ "$TF" == "$DEFAULT_TF" ]]; then need_libpython; fi
say "test clips"
"$VENV/bin/python" tests/golden/make_clips.py # some C++ tests look for them too

folders=("$ROOT/tests")
if [[ "$TF" == "$DEFAULT_TF" ]]; then
  if [[ "${TESTS:-quick}" != slow ]]; then scripts/bazel.sh test //tests/...; fi
else
  # What depends on TensorFlow's version: the ops and what calls them, and the converters' words to
  # a user whose TensorFlow has no TF-TRT.
  folders=("$ROOT"/tests/{decode,encode,dataset,export} "$ROOT"/tests/converters/{cli,environment})
fi

empty="$(mktemp -d)"
trap 'rm -rf "$empty"' EXIT
cd "$empty"
ran=0
failed=0
run_pytest() { # its options...
  local code=0
  "$VENV/bin/python" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" \
    --durations=20 --durations-min=4 "${folders[@]}" "$@" ||
    code=$?
  case "$code" in
    0) ran=1 ;;
    5) ;; # no test was chosen
    *) ran=1 failed=1 ;;
  esac
}
say "pytest with TensorFlow $TF, $JOBS at once"
run_pytest -n "$JOBS" --maxprocesses 8 --dist loadfile -m "not serial and not gpu$chosen" "$@"
say "the tests that measure time or memory or use a GPU, one by one"
run_pytest -m "(serial or gpu)$chosen" "$@"
((ran)) || die "no test was chosen by: $*"
((failed == 0))
