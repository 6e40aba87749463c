#!/usr/bin/env bash
# Installs the agent frameworks that tests/e2e drives, from PyPI, into a folder outside the checkout:
# $AGENT_FRAMEWORKS, or ~/.cache/failsoft-agent-frameworks. Nothing of it is committed. Idempotent.
# Their dependencies conflict with ours, and LangChain's adapter wants version 1 of the SDK: two environments.
set -euo pipefail
folder=${AGENT_FRAMEWORKS:-$HOME/.cache/failsoft-agent-frameworks}
agent_packages=('pydantic-ai-slim[mcp]==2.68.0' openai-agents==0.24.0 mcp==2.3.0)
langchain_packages=(langchain-mcp-adapters==0.3.1 langchain-core==1.7.2 mcp==1.30.0)
stamp="${agent_packages[*]} ${langchain_packages[*]}"
if [ -f "$folder/stamp" ] && [ "$(cat "$folder/stamp")" = "$stamp" ]; then
    exit 0
fi
rm -rf "$folder"
python3 -m venv "$folder/agents"
"$folder/agents/bin/pip" install --quiet --disable-pip-version-check "${agent_packages[@]}"
python3 -m venv "$folder/langchain"
"$folder/langchain/bin/pip" install --quiet --disable-pip-version-check "${langchain_packages[@]}"
printf '%s' "$stamp" >"$folder/stamp"
