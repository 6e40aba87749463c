#!/usr/bin/env bash
# Installs the MCP servers of others that tests/proxy stands in front of, from npm and PyPI, into a folder outside the
# checkout: $FOREIGN_SERVERS, or ~/.cache/failsoft-foreign-servers. Nothing of it is committed. Idempotent.
# The Python servers want version 1 of the SDK, so they get an environment of their own.
set -euo pipefail
folder=${FOREIGN_SERVERS:-$HOME/.cache/failsoft-foreign-servers}
node_packages=(
    @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31
    @modelcontextprotocol/server-memory@2026.8.31
    @modelcontextprotocol/server-sequential-thinking@2026.8.31
)
python_packages=(
    mcp-server-git==2026.10.10
    mcp-server-time==2026.10.10
    mcp-server-fetch==2026.10.10
    mcp-server-sqlite==2025.4.25
    mcp==1.30.0
)
relay_packages=(mcp-proxy==0.13.0)
stamp="${node_packages[*]} ${python_packages[*]} ${relay_packages[*]}"
if [ -f "$folder/stamp" ] && [ "$(cat "$folder/stamp")" = "$stamp" ]; then
    exit 0
fi
mkdir -p "$folder"
npm install --silent --no-audit --no-fund --no-save --prefix "$folder" "${node_packages[@]}"
python3 -m venv "$folder/servers"
"$folder/servers/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
python3 -m venv "$folder/relay"
"$folder/relay/bin/pip" install --quiet --disable-pip-version-check "${relay_packages[@]}"
printf '%s' "$stamp" >"$folder/stamp"
