# Sourced: Debian's source packages and their licences.

# fetch_sources PACKAGE...: unpacks each into a folder of its name. It asks the mirrors of the
# machine's own package lists, but leaves those lists alone.
fetch_sources() {
  local apt="$PWD/apt" package
  mkdir -p "$apt/lists/partial" "$apt/sources.d"
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ -f "$file" ]] || continue
    sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" >"$apt/sources.d/${file##*/}"
  done
  local options=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources.d"
    -o Dir::State::lists="$apt/lists" -o APT::Get::Only-Source=true)
  # Mirrors of other programs have no sources; what is needed is checked below.
  logged portable-apt apt-get "${options[@]}" update ||
    say "some package lists could not be read; trying with the others"
  for package in "$@"; do
    logged portable-source apt-get "${options[@]}" source "$package" ||
      die "apt has no source package $package"
    mv "$package"-*/ "$package"
  done
}

# collect_licenses FOLDER PACKAGE...: Debian's copyright files, and what the sources are called.
collect_licenses() {
  local folder="$1" package
  shift
  for package in "$@"; do
    cp "$package/debian/copyright" "$folder/$package.txt"
    (cd "$package" && dpkg-parsechangelog -S Version | sed "s/^/$package /") >>"$folder/VERSIONS.txt"
  done
  for package in libvpx-dev libopenh264-dev zlib1g-dev; do
    cp "/usr/share/doc/$package/copyright" "$folder/${package%-dev}.txt"
    dpkg-query -W -f='${Source} ${Version}\n' "$package" >>"$folder/VERSIONS.txt"
  done
}
