#!/bin/bash
# Builds the site of docs/ into build/site; a warning is an error, and so is a table that does not
# show its results. Arguments go to `mkdocs build`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

venv="$ROOT/.venv-docs"
stamp="$venv/.requirements"
key="$(hash_of requirements/docs.txt)"
if ! is_done "$stamp" "$key" || ! "$venv/bin/python" -c '' 2>/dev/null; then
  "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || need python3 python3-venv
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    die "the site needs Python 3.9 or later; name one: make docs PYTHON=python3.11"
  say "making ${venv#"$ROOT"/} with $("$PYTHON" --version)"
  rm -rf "$venv"
  logged venv-docs "$PYTHON" -m venv "$venv"
  logged pip-docs "$venv/bin/python" -m pip install -r requirements/docs.txt
  mark_done "$stamp" "$key"
fi

for table in claims_table nvdec_table summary_table; do
  "$venv/bin/python" -m "benchmarks.tables.$table" --check
done
say "building the site"
logged docs "$venv/bin/mkdocs" build --strict --clean "$@"
say "build/site/index.html"
