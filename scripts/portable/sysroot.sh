#!/bin/bash
# Fetches the C and C++ libraries of an older Debian, to link the portable library with: which
# versions of their symbols it needs, and so on which Linux it runs, is settled when it is linked.
# Prints their folder in the user's cache, or nothing if that Debian can't be had any more.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source scripts/debian.sh
source scripts/portable/sources.sh

# glibc 2.31 and GCC 10: Ubuntu 20.04's glibc, and the oldest one that Debian's mirrors have.
release=bullseye
gcc=10
packages=(libc6 libc6-dev "libgcc-$gcc-dev" libgcc-s1 libstdc++6 "libstdc++-$gcc-dev")
prefix="$(cat scripts/portable/{sysroot,sources}.sh | cached "sysroot-$release")"
if [[ -f "$prefix/complete" ]]; then
  echo "$prefix"
  exit 0
fi

{
  need dpkg-dev
  work="$ROOT/build/portable/sysroot"
  rm -rf "$work" "$prefix"
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$prefix"
  cd "$work"
  say "fetching Debian $release's C and C++ libraries"
  debian_list deb "$release" >sources.list
  # Its lists of packages change no more, so they are out of date. They are signed all the same.
  options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$work/lists" -o Dir::State::status=/dev/null
    -o Dir::Cache="$work/cache" -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root)
  if ! logged portable-sysroot apt-get "${options[@]}" update ||
    ! logged portable-sysroot apt-get "${options[@]}" download "${packages[@]}"; then
    say "Debian $release can't be had; the wheel will need this machine's glibc or a newer one"
    exit 0
  fi
  for package in *.deb; do dpkg -x "$package" "$prefix"; done
  # Links to places in the release's own root.
  find "$prefix" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn "$prefix$(readlink "$link")" "$link"
  done
  ln -sfn "usr/lib/gcc/x86_64-linux-gnu/$gcc" "$prefix/gcc"
  touch "$prefix/complete"
  rm -rf "$work"
} >&2
echo "$prefix"
