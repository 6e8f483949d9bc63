#!/bin/bash
# Makes the virtual environment with TensorFlow $TF and the packages of requirements/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

# The minor versions of Python 3 for which a TensorFlow release has wheels; empty if not known.
supported_minors() {
  local release minors
  while read -r release minors; do
    if [[ "${release%.*}" == "${TF%.*}" ]]; then echo "$minors"; fi
  done < <(grep -v '^#' scripts/tensorflows.txt)
}

fits() {
  local version minors
  version="$(version_of "$1")" || return 1
  minors="$(supported_minors)"
  [[ -z "$minors" || " $minors " == *" ${version#3.} "* ]]
}

# Prints the requested interpreter. If that is the default python3, it may be another installed one.
find_python() {
  command -v "$PYTHON" >/dev/null || [[ "$PYTHON" != python3 ]] || need python3 >&2
  version_of "$PYTHON" >/dev/null ||
    die "$PYTHON does not run; name another: make ... PYTHON=python3.11"
  local candidate minor
  if fits "$PYTHON"; then
    echo "$PYTHON"
    return
  fi
  for minor in $([[ "$PYTHON" == python3 ]] && supported_minors | tr ' ' '\n' | sort -rn); do
    candidate="python3.$minor"
    if fits "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  die "TensorFlow $TF has no wheel for Python $(version_of "$PYTHON") ($PYTHON); it has them for" \
    "Python 3.{$(supported_minors | tr ' ' ',')}. Name one of those: make ... PYTHON=python3.11"
}

make_venv() {
  local python
  python="$(find_python)"
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    need "python$(version_of "$python")-venv"
  fi
  say "making ${VENV#"$ROOT"/} with $("$python" --version)"
  rm -rf "$VENV"
  logged "venv-$TF" "$python" -m venv "$VENV"
}

# An existing environment is kept unless PYTHON names another interpreter.
usable() {
  local version
  version="$(version_of "$VENV/bin/python")" || return 1
  # Ours lacks pip if it was interrupted while it was made.
  [[ -n "${TF_NVCODEC_VENV:-}" ]] || "$VENV/bin/python" -c 'import pip' 2>/dev/null || return 1
  [[ "$PYTHON" == python3 || "$version" == "$(version_of "$PYTHON")" ]]
}

stamp="$VENV/.requirements"
# For a build alone, REQUIREMENTS=build is enough.
requirements="${REQUIREMENTS:-run build test lint}"
key="$TF $requirements $(hash_of requirements)"
if usable && is_done "$stamp" "$key"; then exit 0; fi

usable || make_venv
say "installing tensorflow==$TF and the packages of requirements/ (the first time: 800 MB to fetch)"
files=()
for name in $requirements; do files+=(--requirement="requirements/$name.txt"); done
if [[ "$TF" == "$DEFAULT_TF" && " $requirements " == *" test "* ]]; then
  files+=(--requirement=requirements/serving.txt)
fi
logged "pip-$TF" "$VENV/bin/python" -m pip install "tensorflow==$TF" "${files[@]}"
mark_done "$stamp" "$key"
