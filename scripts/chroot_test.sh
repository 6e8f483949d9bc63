#!/bin/bash
# Builds the project in another release of Debian, against that release's FFmpeg, and compares what
# the library decodes with what that release's ffmpeg program does. The release lies in
# build/chroot/RELEASE and is kept there. Needs root.
#     scripts/chroot_test.sh trixie                          # FFmpeg 7.1, tests/decode
#     scripts/chroot_test.sh trixie+sid tests/encode         # trixie with sid's FFmpeg
#     scripts/chroot_test.sh bullseye dist/release/NAME.whl  # the smoke test of a portable wheel there
#     scripts/chroot_test.sh trixie dist/release/NAME.whl tests    # and all tests, with that wheel
#     TF=2.20.0 scripts/chroot_test.sh trixie -- bash        # a command there, in the copy of the tree
export TF="${TF:-2.21.0}"
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

(($# > 0)) || die "which release? Such as: scripts/chroot_test.sh trixie"
((EUID == 0)) || die "a chroot needs root"
release="$1"
base="${release%+*}"
shift
chroot="$ROOT/build/chroot/$release"
# A portable wheel is tried where FFmpeg was never installed.
if [[ "${1:-}" == *.whl ]]; then chroot+=-wheel; fi

# Mounts are made in a namespace of their own, so that none is left, whatever happens.
if [[ -z "${IN_MOUNT_NAMESPACE:-}" ]]; then
  IN_MOUNT_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$release" "$@"
fi

# unpack FOLDER RELEASE VARIANT PACKAGE: unpacks a release with this package, unless it is there.
unpack() {
  [[ ! -f "$1/complete" ]] || return 0
  need mmdebstrap
  say "fetching Debian $2 with $4"
  rm -rf "$1"
  mkdir -p "$1"
  # A mirror may be a snapshot, whose lists of packages are out of date. They are signed all the same.
  logged "chroot-${1##*/}" mmdebstrap --variant="$3" --include="$4" \
    --aptopt='Acquire::Check-Valid-Until "false"' "$2" "$1" "$(debian_mirror)"
  touch "$1/complete"
}

# give_reference: an ffmpeg program for the tests of a wheel, of the release that is inside it. It and
# its libraries lie in a folder where no linker looks for any. The test clips are this machine's.
give_reference() {
  local root=/opt/ffmpeg program
  unpack "$ROOT/build/chroot/ffmpeg" bookworm extract ffmpeg
  mkdir -p "$chroot$root" "$ROOT/build/golden" "$chroot/src/build/golden"
  mount --bind "$ROOT/build/chroot/ffmpeg" "$chroot$root"
  mount --bind "$ROOT/build/golden" "$chroot/src/build/golden"
  for program in ffmpeg ffprobe; do
    install -m 755 /dev/stdin "$chroot/usr/local/bin/$program" <<END
#!/bin/sh
here=lib/x86_64-linux-gnu
path=$root/\$here:$root/usr/\$here
exec $root/\$here/ld-linux-x86-64.so.2 \
  --library-path \$path:$root/usr/\$here/blas:$root/usr/\$here/lapack:$root/usr/\$here/pulseaudio \
  $root/usr/bin/$program "\$@"
END
  done
}

unpack "$chroot" "$base" apt ca-certificates
for folder in proc dev sys; do mount --rbind "/$folder" "$chroot/$folder"; done
cache="${XDG_CACHE_HOME:-$HOME/.cache}/pip"
mkdir -p "$cache" "$chroot/root/.cache/pip" "$chroot/src"
mount --bind "$cache" "$chroot/root/.cache/pip"
# The machine's names and certificates are needed there too.
cp /etc/resolv.conf /etc/hosts "$chroot/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$chroot/etc/ssl/certs/"

say "copying the tree"
find "$chroot/src" -mindepth 1 -maxdepth 1 ! -name build ! -name '.venv*' -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard |
  tar --null --ignore-failed-read --files-from=- --create | tar --extract --directory "$chroot/src"

inside() {
  chroot "$chroot" env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
    TF="$TF" PYTHON="$PYTHON" FLAVOUR="$FLAVOUR" LC_ALL=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt bash -euc 'cd /src; "$@"' - "$@"
}

if [[ "${1:-}" == -- ]]; then
  inside "${@:2}"
  exit
fi
if [[ "${1:-}" == *.whl ]]; then
  cp "$1" "$chroot/tmp/"
  if (($# > 1)); then give_reference; fi
  inside scripts/wheel_test.sh "/tmp/${1##*/}" "${@:2}"
  exit
fi
if [[ "$base" != "$release" && ! -f "$chroot/etc/apt/preferences.d/newer" ]]; then
  newer="${release#"$base"+}"
  say "taking FFmpeg from $newer"
  echo "deb $(debian_mirror) $newer main" >"$chroot/etc/apt/sources.list.d/newer.list"
  # Bazel and the compiler are the base's; their libraries are upgraded with those of FFmpeg.
  install=(inside env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends)
  logged "chroot-$release" inside apt-get update
  logged "chroot-$release" "${install[@]}" -t "$base" bazel-bootstrap g++ pkg-config libhwy-dev
  logged "chroot-$release" "${install[@]}" -t "$newer" \
    ffmpeg lib{avformat,avcodec,avutil,swscale}-dev libffmpeg-nvenc-dev
  printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n' "$newer" \
    >"$chroot/etc/apt/preferences.d/newer"
fi
tests=("${@:-tests/decode}")
inside bash -euc '
  begin=$SECONDS
  source scripts/common.sh
  source scripts/debian.sh
  need ffmpeg "$PYTHON-venv"
  scripts/setup.sh
  say "built in $((SECONDS - begin)) s against:"
  cat build/$BUILD_NAME/build_info.json
  mkdir -p /tmp/empty
  cd /tmp/empty
  "$VENV/bin/python" -m pytest -c "$ROOT/pyproject.toml" --rootdir="$ROOT" -q \
    -m "not slow and not gpu and not serial" "${@/#/$ROOT/}"
' - "${tests[@]}"
