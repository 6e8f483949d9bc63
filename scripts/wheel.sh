#!/bin/bash
# Makes the wheel for TensorFlow $TF in dist/$TF and writes its path to build/$TF/wheel. With
# FLAVOUR, both folders are called $TF-$FLAVOUR.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scripts/venv.sh
scripts/build.sh

sources=(setup.py pyproject.toml requirements LICENSE README.md tf_nvcodec converters
  "$BUILD_DIR/libtf_nvcodec.so")
stamp="$BUILD_DIR/wheel.stamp"
made_from=""
if [[ -n "$FLAVOUR" ]]; then
  sources+=(scripts/portable)
  # A wheel for others names the revision of its sources.
  made_from="$(revision)"
fi
key="$(hash_of "${sources[@]}") $made_from"
if is_done "$stamp" "$key" && [[ -f "$(cat "$BUILD_DIR/wheel")" ]]; then exit 0; fi

say "making the wheel"
rm -rf "$ROOT/dist/$BUILD_NAME"
TF_NVCODEC_PYTHON="$VENV/bin/python" logged "wheel-$BUILD_NAME" \
  "$VENV/bin/python" -m pip wheel . --no-build-isolation --no-deps -w "dist/$BUILD_NAME"
printf '%s' "$ROOT"/dist/"$BUILD_NAME"/*.whl >"$BUILD_DIR/wheel"
mark_done "$stamp" "$key"
