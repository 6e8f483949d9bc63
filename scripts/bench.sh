#!/bin/bash
# Runs every benchmark with all peers; arguments go to the scripts of benchmarks/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

need ffmpeg
"$VENV/bin/python" -m benchmarks.harness.setup_peers ||
  say "some peers could not be installed; they are reported as absent"
# python -m puts this folder first on the path, so the sources run with the library just built.
TF_NVCODEC_LIBRARY="$BUILD_DIR/libtf_nvcodec.so" exec "$VENV/bin/python" -m benchmarks.run_all "$@"
