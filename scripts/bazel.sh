#!/bin/bash
# Runs Bazel against TensorFlow $TF: bazelisk if it can fetch the version of .bazelversion, else
# Debian's Bazel. BAZEL=/path/to/bazel overrides the choice.
#     scripts/bazel.sh build //tf_nvcodec:libtf_nvcodec.so
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

# TF_NVCODEC_PYTHON: the interpreter whose TensorFlow to build against.
TF_NVCODEC_PYTHON="${TF_NVCODEC_PYTHON:-$VENV/bin/python}"
choice="$ROOT/build/bazel/choice-$(<.bazelversion)"

bazelisk_path() {
  if command -v bazelisk; then return; fi
  command -v npm >/dev/null || return 1
  local prefix="$ROOT/build/bazel/bazelisk"
  logged bazelisk timeout 60 npm install --no-audit --no-fund --prefix "$prefix" @bazel/bazelisk \
    2>/dev/null || return 1
  echo "$prefix/node_modules/.bin/bazelisk"
}

choose() {
  local bazelisk
  if bazelisk="$(bazelisk_path)"; then
    say "trying bazelisk for Bazel $(cat .bazelversion)"
    if logged bazelisk-fetch timeout 300 "$bazelisk" --output_base="$ROOT/build/bazel/$TF" \
      build --nobuild $(flags_for "$bazelisk") //build_defs:toolchain_probe 2>/dev/null; then
      mark_done "$choice" "$bazelisk"
      return
    fi
    say "bazelisk cannot fetch Bazel here; using Debian's"
  fi
  if ! compgen -G '/usr/bin/bazel-[0-9]*' >/dev/null; then need bazel-bootstrap; fi
  # Debian's /usr/bin/bazel is a wrapper that accepts only the version of .bazelversion.
  local debian
  debian="$(compgen -G '/usr/bin/bazel-[0-9]*' | sort -V | tail -n 1)" ||
    die "no Bazel here: install bazelisk, or Debian's bazel-bootstrap, or set BAZEL=/path/to/bazel"
  mark_done "$choice" "$debian"
}

# Only some versions of Bazel from 4.2 to 7 know these flags.
flags_for() {
  case "$("$1" --version 2>/dev/null)" in
    "bazel 7."*) echo --config=bazel7 ;;
  esac
}

if [[ -z "${BAZEL:-}" ]]; then
  if [[ ! -f "$choice" || ! -x "$(cat "$choice")" ]]; then choose >&2; fi
  BAZEL="$(cat "$choice")"
fi

command="$1"
shift
ffmpeg=()
if [[ -n "$FLAVOUR" ]]; then
  # Assigned one by one: a failure in an array's value would not end this script.
  static="$(scripts/portable/ffmpeg.sh)"
  sysroot="$(scripts/portable/sysroot.sh)"
  ffmpeg=(--repo_env=TF_NVCODEC_STATIC_FFMPEG="$static" --repo_env=TF_NVCODEC_SYSROOT="$sysroot")
fi
quiet=()
if [[ ! -t 2 ]]; then quiet=(--show_progress_rate_limit=15); fi
case "$command" in
  build | test | run)
    say "$BAZEL ($("$BAZEL" --version 2>/dev/null)), TensorFlow $TF" >&2
    set -- $(flags_for "$BAZEL") --symlink_prefix="$BUILD_DIR/bazel-" \
      --repo_env=TF_NVCODEC_PYTHON="$TF_NVCODEC_PYTHON" \
      --repo_env=TF_NVCODEC_TF_VERSION="$TF" "${ffmpeg[@]}" "${quiet[@]}" "$@"
    ;;
esac
if [[ "$command" == test ]]; then
  # Tests look for the clips there, of which Bazel knows nothing.
  set -- --test_env=NVC_CLIPS="$(compgen -G 'build/golden/*' | sort | tr '\n' ' ')" "$@"
fi
mkdir -p "$BUILD_DIR"
# Each TensorFlow has its own output base, so that changing to another and back compiles nothing. The
# flavours share it: they differ in what is linked.
exec "$BAZEL" --output_base="$ROOT/build/bazel/$TF" --max_idle_secs=600 "$command" "$@"
