"""The deployment files of the docs, checked by the programs that read them, and by what the server offers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
import yaml

from failsoft import Runtime, Settings, asgi_app
from tests.doors import DEFINITIONS, draining_module, rule_file
from tests.programs.incidents import PAGE as INCIDENTS, is_query, seen_of
from tests.programs.nginx import page_configuration
from tests.server.served_tools import Polite

TOKEN = "a token of the library"
POD = "10.42.0.17:8321"


def _checked(*command: str, output: Literal["stdout", "stderr"] = "stderr") -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return str(getattr(ran, output))


def _example(root: Path, name: str) -> str:
    return (root / "docs/examples" / name).read_text()


def _section(root: Path, title: str) -> str:
    return (root / "docs/how-to/deploy.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_nginx_accepts_its_configuration(nginx: str, tmp_path: Path) -> None:
    configuration = page_configuration(tmp_path, 8443, (8321, 8322))
    assert "test is successful" in _checked(nginx, "-t", "-p", str(tmp_path), "-c", str(configuration))


@pytest.fixture
def unit(root: Path, tmp_path: Path) -> Path:
    """Write the unit as an instance whose program is there, and return its file."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze (Debian: systemd)")
    file = tmp_path / "library@8321.service"
    file.write_text(_example(root, "failsoft.service").replace("/opt/library/.venv/bin/failsoft", sys.executable))
    return file


def test_systemd_accepts_the_unit(unit: Path) -> None:
    assert _checked("systemd-analyze", "verify", "--man=no", str(unit)) == ""


def test_systemd_finds_little_exposure_in_the_unit(root: Path, unit: Path) -> None:
    command = ("systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold=100", str(unit))
    (found,) = re.findall(r"exposure level for \S+: ([\d.]+)", _checked(*command, output="stdout"))
    assert float(found) <= 2.0
    assert f"an exposure of {found} of 10" in (root / "docs/how-to/deploy.md").read_text()


def test_the_unit_waits_for_calls_and_for_the_shutdown_of_tools(root: Path) -> None:
    text = _example(root, "failsoft.service")
    (grace,), (stop,) = re.findall(r"GRACE_S=(\d+)", text), re.findall(r"^TimeoutStopSec=(\d+)", text, re.MULTILINE)
    assert int(stop) > int(grace) + draining_module.CLEANUP_S
    assert f"--stop-timeout {stop}" in _section(root, "A container")


def test_the_command_of_the_unit_and_of_the_container_is_understood(root: Path) -> None:
    """Both name options that `failsoft serve` has."""
    container = _example(root, "Containerfile").replace('", "', " ")
    listed = (root / "docs/reference/cli.md").read_text().split("## `failsoft serve`")[1].split("\n## ")[0]
    for text in (_example(root, "failsoft.service"), container):
        command = next(line for line in text.splitlines() if "failsoft serve" in line)
        used = [word.strip('"]') for word in command.split() if word.startswith("--")]
        assert used
        assert [option for option in used if f"`{option}`" not in listed] == []


DEPLOYMENTS = ("failsoft.service", "Containerfile", "kubernetes.yaml", "kubernetes-fleet.yaml")


@pytest.mark.parametrize("name", [*DEPLOYMENTS, "../how-to/deploy.md", "../how-to/run-a-fleet.md"])
def test_every_variable_of_a_deployment_is_a_setting(root: Path, name: str) -> None:
    settings = {f"FAILSOFT_{field.upper()}" for field in Settings.model_fields}
    used = set(re.findall(r"\bFAILSOFT_\w+", _example(root, name)))
    assert used
    assert used <= settings


def test_an_upgrade_is_rolled_back_with_its_application(root: Path, tmp_path: Path) -> None:
    """The commands that move files are run as they are, in another folder."""
    upgrade, _, back = re.findall(r"^ *```sh\n(.*?)^ *```", _section(root, "Upgrades"), re.MULTILINE | re.DOTALL)
    place, app, versions = tmp_path / "opt", tmp_path / "opt/library.py", []
    for number in (1, 2):
        (place / f"venv-{number}").mkdir(parents=True)
    app.write_text("old")
    (place / ".venv").symlink_to("venv-1")
    (tmp_path / "library.py").write_text("new")
    for commands in (upgrade, back):
        kept = [line.strip() for line in commands.splitlines() if not re.search(r"-m venv|pip install|lint", line)]
        script = "\n".join(kept).replace("/opt/library", str(place))
        subprocess.run(["sh", "-eu", "-c", script], cwd=tmp_path, check=True)
        versions.append((app.read_text(), (place / ".venv").readlink().name))
    assert versions == [("new", "venv-2"), ("old", "venv-1")]


@pytest.fixture
def manifest(root: Path) -> dict[str, Any]:
    """Return the objects of the manifest by kind."""
    objects = list(yaml.safe_load_all(_example(root, "kubernetes.yaml")))
    by_kind = {one["kind"]: one for one in objects}
    assert len(by_kind) == len(objects)
    return by_kind


def test_kubernetes_knows_every_field_of_the_manifests(root: Path) -> None:
    files = [str(root / "docs/examples" / name) for name in ("kubernetes.yaml", "kubernetes-fleet.yaml")]
    _checked(sys.executable, "-m", "kubernetes_validate", "--strict", *files)


def test_workers_run_the_image_of_the_servers_and_have_time_to_end_their_jobs(
    root: Path, manifest: dict[str, Any]
) -> None:
    fleet = list(yaml.safe_load_all(_example(root, "kubernetes-fleet.yaml")))
    workers, temporal = (one["spec"]["template"]["spec"] for one in fleet if one["kind"] == "StatefulSet")
    (worker,), (engine,) = workers["containers"], temporal["containers"]
    (server,) = manifest["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert [worker[name] for name in ("image", "envFrom", "volumeMounts")] == [
        server[name] for name in ("image", "envFrom", "volumeMounts")
    ]
    grace = {one["name"]: one["value"] for one in worker["env"]}["FAILSOFT_SHUTDOWN_GRACE_S"]
    assert workers["terminationGracePeriodSeconds"] > int(grace) + draining_module.CLEANUP_S
    (port,) = engine["ports"]
    assert f"temporal://temporal:{port['containerPort']}/default" in (root / "docs/how-to/run-a-fleet.md").read_text()


def test_the_manifest_runs_the_image_as_it_was_built(root: Path, manifest: dict[str, Any]) -> None:
    image, pod = _example(root, "Containerfile"), manifest["StatefulSet"]["spec"]["template"]
    (container,), security = pod["spec"]["containers"], pod["spec"]["securityContext"]
    (volumes,) = re.findall(r"^VOLUME (.*)$", image, re.MULTILINE)
    mounted = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    kept = {one["metadata"]["name"] for one in manifest["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    assert {mounted.pop(path) for path in json.loads(volumes)} == kept
    assert list(mounted.values()) == [one["name"] for one in pod["spec"]["volumes"]]
    assert f"USER {security['runAsUser']}\n" in image
    assert container["securityContext"]["readOnlyRootFilesystem"]
    (port,) = container["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in image
    assert {one["targetPort"] for one in manifest["Service"]["spec"]["ports"]} == {port["name"]}
    labels = pod["metadata"]["labels"]
    selectors = [manifest[kind]["spec"]["selector"] for kind in ("StatefulSet", "PodDisruptionBudget")]
    assert [one["matchLabels"] for one in selectors] == [labels, labels]
    assert manifest["Service"]["spec"]["selector"] == labels


def test_a_pod_has_time_to_drain(root: Path, manifest: dict[str, Any]) -> None:
    pod = manifest["StatefulSet"]["spec"]["template"]["spec"]
    program, pause_s = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    (grace,) = re.findall(r"FAILSOFT_SHUTDOWN_GRACE_S=(\d+)", _example(root, "Containerfile"))
    assert program == "sleep"
    assert pod["terminationGracePeriodSeconds"] > int(pause_s) + int(grace) + draining_module.CLEANUP_S


@pytest.mark.anyio
async def test_the_probes_need_neither_a_token_nor_an_expected_host(manifest: dict[str, Any]) -> None:
    (container,) = manifest["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/readyz",
        "readiness": "/readyz",
        "liveness": "/healthz",
    }
    app = asgi_app(Polite(runtime=Runtime(settings=Settings(auth_token=TOKEN))))
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=f"http://{POD}") as client,
    ):
        for probe in probes.values():
            assert (await client.get(probe["path"])).status_code == 200


def test_promtool_accepts_the_scrape_configuration(root: Path, promtool: str, tmp_path: Path) -> None:
    token, file = tmp_path / "token", tmp_path / "prometheus.yml"
    token.write_text(TOKEN)
    shown = _example(root, "prometheus.yml")
    file.write_text(shown.replace("/etc/prometheus/library.token", str(token)))
    assert str(token) in file.read_text()
    _checked(promtool, "check", "config", str(file))
    shown_rules, rules = _example(root, "prometheus-rules.yml"), tmp_path / "failsoft.rules.yml"
    rules.write_text(yaml.safe_dump(rule_file()))
    file.write_text(shown_rules.replace("/etc/prometheus/rules/failsoft.rules.yml", str(rules)))
    assert str(rules) in _checked(promtool, "check", "config", str(file), output="stdout")
    (job,) = yaml.safe_load(shown)["scrape_configs"]
    targets = job["static_configs"][0]["targets"]
    assert [f"    server {target} max_fails=0;" in _example(root, "nginx.conf") for target in targets] == [True, True]
    assert f'up{{job="{job["job_name"]}"}} == 0' in seen_of()["A replica is down"]


@pytest.fixture(scope="module")
def seen() -> list[str]:
    """Return what is seen of incidents: every word in code style."""
    assert len(seen_of()) >= 15
    return [shown for words in seen_of().values() for shown in words]


def test_promtool_accepts_the_queries_of_the_incidents(seen: list[str], promtool: str, tmp_path: Path) -> None:
    queries = [shown for shown in seen if is_query(shown)]
    assert len(queries) >= 15
    rules = tmp_path / "rules.yml"
    groups = [{"name": "a", "rules": [{"alert": f"A{at}", "expr": query} for at, query in enumerate(queries)]}]
    rules.write_text(yaml.safe_dump({"groups": groups}))
    _checked(promtool, "check", "rules", str(rules))


def test_every_metric_of_the_incidents_exists_with_its_labels() -> None:
    known = {item.name: set(item.labels) for item in DEFINITIONS}
    known |= {f"{item.name}_bucket": {*item.labels, "le"} for item in DEFINITIONS if item.kind == "histogram"}
    valued = {item.name: (item.labels[-1], {*item.values}) for item in DEFINITIONS if item.values}
    shown = re.findall(r"(?<![:\w])(mcp_\w+)(?:\{([^}]*)\})?", INCIDENTS.read_text())
    assert {name for name, _ in shown} <= known.keys()
    for name, labels in shown:
        for label, value in re.findall(r'(\w+)="(\w+)"', labels):
            assert label in known[name]
            assert valued.get(name, ("", ()))[0] != label or value in valued[name][1]


def test_every_event_and_code_of_the_incidents_exists(root: Path, seen: list[str], tracked: dict[Path, str]) -> None:
    events = {shown for shown in seen if re.fullmatch(r"[a-z]+(_[a-z]+)*", shown)}
    events -= {"stack_trace", "exit_status", "operation", "verdict", "lost"}  # fields of a record, and a value
    source = "".join(text for path, text in tracked.items() if path.is_relative_to(root / "src"))
    logged = set(re.findall(r'"(?:event": "|)(\w+)"', source))
    logged |= {f"worker_{kind}" for kind in ("started", "stalled", "ended")}
    assert {"store_lost", "worker_ended", "reload_failed", "circuit", "call_recovered"} <= events
    assert events <= logged
    pages = "".join(text for path, text in tracked.items() if path.parent == root / "docs/reference/errors")
    known = set(re.findall(r"^#+ `?([A-Z_]+)", pages, re.MULTILINE))
    named = set(re.findall(r"[`\"]([A-Z]+_[A-Z_]+)[`\"]", INCIDENTS.read_text()))
    assert "STATE_UNAVAILABLE" in named
    assert {code for code in named if not code.startswith("FAILSOFT_")} <= known
