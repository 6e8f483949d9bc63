#!/bin/bash
# Builds a static library that can become part of a shared one, from Debian's source package, once
# for each way of building it. Prints its folder in the user's cache.
#     scripts/portable/library.sh dav1d | svt-av1 | x264 | x265
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source scripts/debian.sh
source scripts/portable/sources.sh

build_dav1d() {
  meson setup build dav1d --prefix "$prefix" --libdir lib --default-library static \
    --buildtype release -Db_staticpic=true -Denable_tools=false -Denable_tests=false
  ninja -C build install
}

# cmake_build SOURCES BUILD OPTION...
cmake_build() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "${@:3}"
  ninja -C "$2"
}

build_svt-av1() {
  cmake_build svt-av1 build -DBUILD_APPS=OFF -DBUILD_DEC=OFF -DBUILD_TESTING=OFF
  ninja -C build install
}

# Debian's libx264.a is not position independent.
build_x264() {
  mkdir build
  cd build
  ../x264/configure --prefix="$prefix" --enable-static --enable-pic --disable-cli --disable-opencl
  make -j"$(nproc)" install
}

# Debian's libx265.a wants libnuma, whose static library cannot become part of a shared one. One
# library has all three depths, as in Debian's: the one of 8 bits calls the others. Without the macro,
# the compiler takes no vector functions of libm, which old ones lack.
build_x265() {
  local plain=(-DENABLE_SHARED=OFF -DENABLE_CLI=OFF -DENABLE_LIBNUMA=OFF
    -DCMAKE_CXX_FLAGS=-U__FAST_MATH__)
  local high=("${plain[@]}" -DHIGH_BIT_DEPTH=ON -DEXPORT_C_API=OFF)
  cmake_build x265/source build10 "${high[@]}"
  cmake_build x265/source build12 "${high[@]}" -DMAIN12=ON
  cmake_build x265/source build "${plain[@]}" -DLINKED_10BIT=ON -DLINKED_12BIT=ON
  ninja -C build install
  printf '%s\n' "create libx265.a" "addlib build/libx265.a" "addlib build10/libx265.a" \
    "addlib build12/libx265.a" save end | ar -M
  mv libx265.a "$prefix/lib/"
}

# Debian 13's dav1d makes the same pictures, no slower than Debian 12's, which is three years older.
declare -A newer=([dav1d]=trixie)

name="$1"
declare -F "build_$name" >/dev/null || die "no library is called $name"
from=(${newer[$name]:+--from "${newer[$name]}"})
prefix="$({ declare -f cmake_build "build_$name" && echo "${from[@]}" && cat scripts/portable/sources.sh; } | cached "$name")"
if [[ -f "$prefix/complete" ]]; then
  echo "$prefix"
  exit 0
fi

{
  need gcc g++ pkg-config dpkg-dev nasm
  use_tools
  work="$ROOT/build/portable/$name"
  rm -rf "$work" "$prefix"
  mkdir -p "$work" "$prefix"
  cd "$work"
  say "building $name from Debian's sources"
  fetch_sources "${from[@]}" "$name"
  export -f cmake_build "build_$name"
  export prefix
  logged "portable-$name" bash -euc "build_$name"
  keep_licence "$prefix" "$name"
  touch "$prefix/complete"
  rm -rf "$work"
} >&2
echo "$prefix"
