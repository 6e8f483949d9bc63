#!/bin/bash
# Makes the virtual environment with TensorFlow $TF and the packages of requirements/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

# Python minor versions that a TensorFlow release has wheels for.
supported_minors() {
  case "$TF" in
    2.1[789].*) echo "9 10 11 12" ;;
    2.20.*) echo "9 10 11 12 13" ;;
    2.2[1-9].*) echo "10 11 12 13" ;;
  esac
}

check_python() {
  local version minors
  version="$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  minors="$(supported_minors)"
  if [[ -n "$minors" && ! " $minors " == *" ${version#3.} "* ]]; then
    die "TensorFlow $TF has no wheel for Python $version ($PYTHON); it has them for Python 3.{${minors// /,}}." \
      "Name one of those: make ... PYTHON=python3.11"
  fi
}

make_venv() {
  if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    need "python$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
  fi
  say "making ${VENV#"$ROOT"/} with $("$PYTHON" --version)"
  rm -rf "$VENV"
  logged "venv-$TF" "$PYTHON" -m venv "$VENV"
}

stamp="$VENV/.requirements"
key="$TF $(hash_of requirements)"
if is_done "$stamp" "$key" && "$VENV/bin/python" -c '' 2>/dev/null; then exit 0; fi

command -v "$PYTHON" >/dev/null || [[ "$PYTHON" != python3 ]] || need python3 python3-venv
command -v "$PYTHON" >/dev/null || die "there is no $PYTHON; name another: make ... PYTHON=python3.11"
"$VENV/bin/python" -c '' 2>/dev/null || { check_python && make_venv; }
say "installing tensorflow==$TF and the packages of requirements/ (the first time: about 600 MB to fetch)"
logged "pip-$TF" "$VENV/bin/python" -m pip install "tensorflow==$TF" \
  -r requirements/run.txt -r requirements/build.txt -r requirements/test.txt -r requirements/lint.txt
mark_done "$stamp" "$key"
