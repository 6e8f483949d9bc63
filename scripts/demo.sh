#!/bin/bash
# Runs the main job on a real clip.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exec "$VENV/bin/python" examples/demo.py "$@"
