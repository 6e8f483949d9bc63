# Sourced by the other scripts: folders, messages, logs and stamps of finished steps.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
DEFAULT_TF=2.17.1
TF="${TF:-$DEFAULT_TF}"
PYTHON="${PYTHON:-python3}"
# venv_of TF: prints the folder of the virtual environment that the tests have for it.
venv_of() { if [[ "$1" == "$DEFAULT_TF" ]]; then echo "$ROOT/.venv"; else echo "$ROOT/.venv-$1"; fi; }
VENV="${TF_NVCODEC_VENV:-$(venv_of "$TF")}" # another virtual environment than the tests'
# FLAVOUR=portable or portable-gpl builds with an FFmpeg of its own inside (scripts/portable/), beside
# the usual build.
FLAVOUR="${FLAVOUR:-}"
BUILD_NAME="$TF${FLAVOUR:+-$FLAVOUR}"
BUILD_DIR="$ROOT/build/$BUILD_NAME"
LOG_DIR="$ROOT/build/log"
export TF PYTHON FLAVOUR
export PIP_DISABLE_PIP_VERSION_CHECK=1
cd "$ROOT"

# version_of PYTHON: prints a version such as 3.11.
version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

say() { printf '==> %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# logged NAME COMMAND...: writes its output to build/log/NAME.log, and shows it if it fails.
logged() {
  local log="$LOG_DIR/$1.log"
  shift
  mkdir -p "$LOG_DIR"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    printf 'error: failed: %s\n       (all of its output: %s)\n' "$*" "$log" >&2
    return 1
  fi
}

# Prints a hash of the names and contents of files and folders, without bytecode and build files.
hash_of() {
  find "$@" -type f ! -name '*.pyc' ! -path '*/.*_cache/*' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-32
}

# Prints the commit, with -dirty if files differ from it; nothing outside a checkout.
revision() { git describe --always --dirty 2>/dev/null || true; }

# A stamp records a finished step with the hash of its inputs.
is_done() { [[ -f "$1" && "$(cat "$1")" == "$2" ]]; }
mark_done() {
  mkdir -p "$(dirname "$1")"
  printf '%s' "$2" >"$1"
}
