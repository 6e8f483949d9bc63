#!/bin/bash
# Builds a static FFmpeg from Debian's source packages, once for each content of these scripts, and
# prints its folder in the user's cache. It has all native decoders and demuxers, dav1d, SVT-AV1,
# libvpx, OpenH264 and NVENC; no network, devices or filters.
#     FLAVOUR=portable      under the LGPL
#     FLAVOUR=portable-gpl  with x264 and x265, under the GPL
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source scripts/debian.sh
source scripts/portable/sources.sh

flavour="${FLAVOUR:-portable}"
libraries=(dav1d svt-av1)
# The static libraries that Debian has: NAME:PACKAGE.
debian=(z:zlib1g-dev vpx:libvpx-dev openh264:libopenh264-dev)
options=(--enable-zlib --enable-libdav1d --enable-libsvtav1 --enable-libvpx --enable-libopenh264)
text=COPYING.LGPLv2.1
case "$flavour" in
  portable) ;;
  portable-gpl)
    libraries+=(x264 x265)
    # Version 3, because the library around it is under the Apache licence, which does not go with
    # version 2.
    options+=(--enable-gpl --enable-version3 --enable-libx264 --enable-libx265)
    text=COPYING.GPLv3
    ;;
  *) die "FLAVOUR must be portable or portable-gpl, not $flavour" ;;
esac

folders=()
for name in "${libraries[@]}"; do folders+=("$(scripts/portable/library.sh "$name")"); done
prefix="$({ cat scripts/portable/{ffmpeg,sources}.sh && echo "${folders[@]}"; } | cached "ffmpeg-$flavour")"
if [[ -f "$prefix/complete" ]]; then
  echo "$prefix"
  exit 0
fi

{
  need gcc g++ make pkg-config dpkg-dev nasm libffmpeg-nvenc-dev "${debian[@]#*:}"
  work="$ROOT/build/portable/$flavour"
  rm -rf "$work" "$prefix"
  mkdir -p "$work" "$prefix/lib/pkgconfig" "$prefix/licenses"
  for folder in "${folders[@]}"; do
    cat "$folder/versions" >>"$prefix/versions"
    cp -r "$folder"/{include,lib,licenses} "$prefix/"
  done
  sed -i "s|^prefix=.*|prefix=$prefix|" "$prefix"/lib/pkgconfig/*.pc
  for pair in "${debian[@]}"; do keep_debian_library "$prefix" "${pair%:*}" "${pair#*:}"; done

  cd "$work"
  fetch_sources ffmpeg
  say "building FFmpeg"
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  mkdir build
  cd build
  # Muxers write files by FFmpeg's protocol; nothing is read by one.
  logged portable-configure ../ffmpeg/configure --prefix="$prefix" --enable-static \
    --disable-shared --enable-pic --pkg-config-flags=--static \
    --extra-cflags=-fvisibility=hidden --extra-ldflags="-L$prefix/lib" --disable-programs \
    --disable-doc --disable-debug --disable-network --disable-autodetect --disable-avdevice \
    --disable-avfilter --disable-swresample --disable-postproc --disable-protocols \
    --enable-protocol=file --enable-ffnvcodec --enable-nvenc "${options[@]}"
  logged portable-ffmpeg make -j"$(nproc)" install
  cd ..

  keep_licence "$prefix" ffmpeg
  cp "ffmpeg/$text" "$prefix/licenses/"
  sort -u "$prefix/versions" >"$prefix/licenses/VERSIONS.txt"
  touch "$prefix/complete"
  rm -rf "$work"
} >&2
echo "$prefix"
