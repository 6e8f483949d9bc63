#!/bin/bash
# Builds the op library against TensorFlow $TF: build/$TF/libtf_nvcodec.so and build_info.json.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

if [[ -z "${TF_NVCODEC_PYTHON:-}" ]]; then
  scripts/venv.sh
  export TF_NVCODEC_PYTHON="$VENV/bin/python"
fi

sources=(WORKSPACE BUILD .bazelrc .bazelversion build_defs scripts/bazel.sh
  tf_nvcodec/BUILD tf_nvcodec/core tf_nvcodec/nv tf_nvcodec/capi tf_nvcodec/ops
  tf_nvcodec/kernels)
need g++ pkg-config libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libffmpeg-nvenc-dev \
  libhwy-dev
# The FFmpeg that is linked.
if [[ -n "$FLAVOUR" ]]; then
  sources+=(scripts/portable)
  ffmpeg="$(scripts/portable/ffmpeg.sh)"
  linked="$(hash_of "$ffmpeg/licenses/VERSIONS.txt") $ffmpeg $(scripts/portable/sysroot.sh)"
else
  linked="$(pkg-config --modversion --libs libavformat libavcodec libavutil libswscale | tr '\n' ' ')"
fi
stamp="$BUILD_DIR/library.stamp"
key="$(hash_of "${sources[@]}") $TF_NVCODEC_PYTHON $linked"
if [[ -f "$BUILD_DIR/libtf_nvcodec.so" ]] && is_done "$stamp" "$key"; then exit 0; fi

say "building libtf_nvcodec.so"
scripts/bazel.sh build //tf_nvcodec:libtf_nvcodec.so //build_defs:build_info
for file in tf_nvcodec/libtf_nvcodec.so build_defs/build_info.json; do
  install -m 644 "$BUILD_DIR/bazel-bin/$file" "$BUILD_DIR/${file##*/}"
done
mark_done "$stamp" "$key"
