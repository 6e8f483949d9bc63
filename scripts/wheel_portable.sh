#!/bin/bash
# Makes a wheel that needs no FFmpeg on the machine: dist/$TF-$FLAVOUR/*.whl, tagged by auditwheel.
#     FLAVOUR=portable, the default: the FFmpeg inside is under the LGPL
#     FLAVOUR=portable-gpl: it has x264 and x265, and the wheel is under the GPL
export FLAVOUR="${FLAVOUR:-portable}"
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

source scripts/portable/sources.sh
use_tools
say "finding the oldest Linux that the wheel runs on"
logged portable-audit auditwheel repair "$wheel" \
  --exclude libtensorflow_framework.so.2 --strip -w "dist/$BUILD_NAME"
mark_done "$stamp" "$key"
tagged=("$ROOT/dist/$BUILD_NAME"/*manylinux*.whl)
say "${tagged[0]#"$ROOT"/}: $(du -m "${tagged[0]}" | cut -f1) MB"
