# Sourced: installs missing Debian packages, and knows the mirror.

# need PACKAGE...: installs missing packages, with one apt-get update for each run.
need() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: please have the equivalents of these installed: $*"
    return
  fi
  local missing=() package
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return; fi
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "Debian packages are missing and neither root nor sudo is here. As root: apt-get install -y ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  if [[ -z "${APT_UPDATED:-}" ]]; then
    logged apt-update "${as_root[@]}" apt-get update ||
      say "apt-get update failed; trying with the package lists that are here"
    APT_UPDATED=1
  fi
  # Another installation, such as a fresh machine's own upgrade, may hold the lock for a while.
  logged apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
}

# Prints the mirror that this machine's packages come from, which may be a file with mirrors.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    awk '!found && /\/debian(\.list)?\/*$/ { print; found = 1 } END { exit !found }' ||
    die "apt's sources name no mirror of Debian, whose address ends with /debian"
}
