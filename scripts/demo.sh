#!/bin/bash
# Runs examples/demo.py on a real clip.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exec "$VENV/bin/python" examples/demo.py "$@"
