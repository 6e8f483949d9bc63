#!/bin/bash
# Installs what the project needs, builds it against TensorFlow $TF and installs the wheel in the
# virtual environment. A step is skipped if its inputs have not changed.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scripts/venv.sh
scripts/build.sh
scripts/wheel.sh

wheel="$(cat "$BUILD_DIR/wheel")"
stamp="$VENV/.installed-wheel"
key="$(hash_of "$wheel")"
if ! is_done "$stamp" "$key"; then
  say "installing $(basename "$wheel") in ${VENV#"$ROOT"/}"
  logged "install-$TF" "$VENV/bin/python" -m pip install --force-reinstall --no-deps "$wheel"
  mark_done "$stamp" "$key"
fi
