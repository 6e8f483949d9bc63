#!/bin/bash
# Tries a wheel in a fresh virtual environment: tests/package/smoke.py, then the tests that are named.
#     scripts/wheel_test.sh dist/release/NAME.whl
#     scripts/wheel_test.sh dist/release/NAME.whl tests/decode tests/encode   # or tests, for all
# The named tests compare with the ffmpeg program on PATH.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

wheel="$(realpath "$1")"
tests=("${@:2}")
venv="$ROOT/build/wheel_test"
empty="$(mktemp -d)" # so that nothing is imported from the sources
trap 'rm -rf "$empty"' EXIT

need "$PYTHON-venv"
"$PYTHON" -m venv --clear "$venv"
say "installing ${wheel##*/} with $("$PYTHON" --version) and $(ldd --version | head -n 1)"
logged wheel-test "$venv/bin/python" -m pip install "$wheel"
cd "$empty"
"$venv/bin/python" "$ROOT/tests/package/smoke.py"
((${#tests[@]} > 0)) || exit 0

# Only now: the wheel has to run without the tests' packages.
need g++ mount openssl # some tests compile a library, fill a small disk, or serve https
logged wheel-test "$venv/bin/python" -m pip install -r "$ROOT/requirements/test.txt"
/sbin/ldconfig -p | grep -E 'lib(avcodec|avformat|avutil|swscale)\.' &&
  say "this machine has FFmpeg's libraries, so the tests do not show that none is needed"
run_pytest() {
  "$venv/bin/python" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" -q -rs \
    "${tests[@]/#/$ROOT/}" "$@"
}
failed=0
run_pytest -n "$(nproc)" --maxprocesses 8 --dist loadfile -m "not serial and not gpu and not slow" ||
  failed=1
run_pytest -m "serial and not gpu and not slow" || (($? == 5)) || failed=1
((failed == 0))
