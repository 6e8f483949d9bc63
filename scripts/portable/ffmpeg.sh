#!/bin/bash
# Builds a static FFmpeg from Debian's source packages, once for each content of this folder, and
# prints its folder in the user's cache. It has all native decoders and demuxers, dav1d, SVT-AV1,
# libvpx, OpenH264 and NVENC; no network, devices or filters. It is under the LGPL.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source scripts/debian.sh
source scripts/portable/sources.sh

key="$(hash_of scripts/portable)"
prefix="${XDG_CACHE_HOME:-$HOME/.cache}/tf_nvcodec/ffmpeg-${key:0:16}"
if [[ -f "$prefix/complete" ]]; then
  echo "$prefix"
  exit 0
fi

{
  need gcc g++ make pkg-config dpkg-dev nasm libvpx-dev libopenh264-dev libffmpeg-nvenc-dev zlib1g-dev

  work="$ROOT/build/portable/ffmpeg"
  tools="$ROOT/build/portable/tools"
  rm -rf "$work" "$prefix"
  mkdir -p "$work" "$prefix/lib/pkgconfig"
  if [[ ! -x "$tools/bin/meson" ]]; then
    logged portable-tools "$PYTHON" -m venv "$tools"
    logged portable-tools "$tools/bin/python" -m pip install meson ninja 'cmake<4'
  fi
  export PATH="$tools/bin:$PATH" PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  cd "$work"
  say "fetching Debian's sources of dav1d, SVT-AV1 and FFmpeg"
  fetch_sources dav1d svt-av1 ffmpeg

  say "building dav1d and SVT-AV1"
  logged portable-dav1d meson setup dav1d-build dav1d --prefix "$prefix" --libdir lib \
    --default-library static --buildtype release -Db_staticpic=true -Denable_tools=false \
    -Denable_tests=false
  logged portable-dav1d ninja -C dav1d-build install
  logged portable-svt-av1 cmake -S svt-av1 -B svt-av1-build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
    -DBUILD_APPS=OFF -DBUILD_DEC=OFF -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  logged portable-svt-av1 ninja -C svt-av1-build install

  # The static libraries that Debian has. The linker finds them here before the shared ones.
  for name in z vpx openh264; do
    cp "$(gcc -print-file-name="lib$name.a")" "$prefix/lib/"
  done

  say "building FFmpeg"
  options=(--prefix="$prefix" --enable-static --disable-shared --enable-pic
    --pkg-config-flags=--static --extra-cflags=-fvisibility=hidden --extra-ldflags="-L$prefix/lib"
    --disable-programs --disable-doc --disable-debug --disable-network --disable-autodetect
    --disable-avdevice --disable-avfilter --disable-swresample --disable-postproc
    --disable-protocols --enable-zlib --enable-libdav1d --enable-libsvtav1 --enable-libvpx
    --enable-libopenh264 --enable-ffnvcodec --enable-nvenc)
  mkdir ffmpeg-build
  cd ffmpeg-build
  logged portable-configure ../ffmpeg/configure "${options[@]}"
  logged portable-ffmpeg make -j"$(nproc)" install
  cd ..

  mkdir "$prefix/licenses"
  collect_licenses "$prefix/licenses" dav1d svt-av1 ffmpeg
  touch "$prefix/complete"
  rm -rf "$work"
} >&2
echo "$prefix"
