"""What the policies refuse, what they let be, and what becomes of a policy that breaks."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError
from failsoft.tools.workspace import Finding, Workspace
from tests.doors import generic_module as generic, load_policies
from tests.tools.workspace.site import Site

# Written in pieces, so that nothing that looks for secrets finds this file.
GITHUB = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
AMAZON = "AKIA" + "Z7VQ3MN8RT2KLWBX"
_KIND = "RSA PRIVATE KEY"
PEM = f"-----BEGIN {_KIND}-----\nMIIEpAIBAAKCAQEAw7Zf9qPdK3vXbT5hR8sYj2LmNc4uGkWe\n-----END {_KIND}-----\n"
LITERAL = "q7Zr9" + "vX2mK4pT8sW1yBn3"

REFUSED = {
    "a token": ("a.md", f"# Title\n\nuse {GITHUB}\n", [("secret", 3)]),
    "a key of a cloud": ("a.yml", f"key: {AMAZON}\n", [("secret", 1)]),
    "a private key": ("a.pem", f"x\n{PEM}", [("secret", 2)]),
    "a literal in brackets on the next line": ("a.py", f'api_key = (\n    "{LITERAL}")\n', [("secret", 2)]),
    "a literal after its quoted name": ("a.py", f'environ.setdefault("API_KEY", "{LITERAL}")\n', [("secret", 1)]),
    "a literal in backticks": ("a.ts", f"const pwd        = `{LITERAL}`;\n", [("secret", 1)]),
    "a marker behind a byte order mark": ("a.txt", "\ufeff<<<<<<< HEAD\n", [("merge-marker", 1)]),
    "a marker in a file of CR": ("a.txt", "a\r>>>>>>> main\rb\r", [("merge-marker", 1)]),
    "a comment of two sharps behind a byte order mark": ("a.py", "\ufeff##\xa0TODO: x\n", [("todo", 1)]),
    "something to do in a style sheet": ("a.css", "/* TODO */\n", [("todo", 1)]),
    "a prefixed literal": ("a.py", f'api_key = rb"{LITERAL}"\n', [("secret", 1)]),
    "a literal in three quotes": ("a.py", f'api_key = """{LITERAL}"""\n', [("secret", 1)]),
    "a literal under a key": ("a.py", f'd["api_key"] = "{LITERAL}"\n', [("secret", 1)]),
    "a literal under a telling name": ("a.py", f'x = 1\napi_key: str = "{LITERAL}"\n', [("secret", 2)]),
    "the same in JSON": ("a.json", f'{{\n"client_secret": "{LITERAL}"}}', [("secret", 2)]),
    "a token under a telling name, once": ("a.py", f'token = "{GITHUB}"\n', [("secret", 1)]),
    "markers of a merge": (
        "a.txt",
        "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n",
        [("merge-marker", 2), ("merge-marker", 6)],
    ),
    "markers with their base": ("a.txt", "||||||| base\r\nx\r\n", [("merge-marker", 1)]),
    "a pass for later": (
        "a.py",
        "def f():\n    pass  # TODO\n\ndef g(): ...  # FIXME: x\n",
        [("todo", 2), ("todo", 4)],
    ),
    "something to do later": ("a.py", "x = 1  # TODO: more\n", [("todo", 1)]),
    "something to correct in TypeScript": ("a.ts", "f();\n/* FIXME */ g(); // done\n", [("todo", 2)]),
    "an unquoted password": (".env.local", "A=1\nexport DB_PASSWORD=hunter2hunter2 # x\n", [("secret", 2)]),
    "an unquoted token in YAML": ("a.yml", "a:\n  api_token: 8f3kd02mx9q1\n", [("secret", 2)]),
}
ACCEPTED = {
    "headings": ("a.rst", "Title\n=======\n\nText\n"),
    "a table": ("a.md", "|||||||x|\n<<<<<<<<\n"),
    "secrets from elsewhere": ("a.py", 'token = os.environ["API_TOKEN_OF_THE_SERVICE"]\npassword = get("x" * 20)\n'),
    "templates": ("a.yml", 'password: "${DATABASE_PASSWORD_2}"\ntoken: "{{ secrets.TOKEN_1234 }}"\n'),
    "examples": (
        "a.md",
        'AKIAIOSFODNN7EXAMPLE, `api_key = "your-api-key-goes-here-1"`, ghp_xxxxxxxxxxxxxxxxxxxxxxxx1\n',
    ),
    "words": ("a.py", 'secret = "correct-horse-battery-staple"\nTOKEN = "aaaaaaaaaaaaaaaaaaaaaaa1"\n'),
    "a key that is only named": ("a.py", 'if "-----BEGIN ' + 'RSA PRIVATE KEY-----" in text:\n    refuse()\n'),
    "facts about tokens": ("a.py", 'token_count = "12345678901234567890a"\nmax_tokens = 1234567890123456\n'),
    "comments in texts": ("a.py", '"""\npass  # TODO\n"""\nx = "pass  # TODO"\n'),
    "a comment on a pass": ("a.py", "try:\n    f()\nexcept OSError:\n    pass  # it is gone already\n"),
    "a word that only looks like a marker": ("a.py", "x = 'TODO'  # see the TODO list\n# TODOS\n"),
    "types": ("a.pyi", "def f() -> int: ...  # TODO\n"),
    "nothing": ("a.py", ""),
}


def found(path: str, text: str) -> list[tuple[str, int]]:
    return [(one.rule, one.line) for one in generic.GenericPolicy().findings(path, text)]


@pytest.mark.parametrize(("path", "text", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_breaks_a_rule_is_found_on_its_line(path: str, text: str, expected: list[tuple[str, int]]) -> None:
    assert found(path, text) == expected


@pytest.mark.parametrize(("path", "text"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_only_looks_like_it_is_let_be(path: str, text: str) -> None:
    assert found(path, text) == []


HOSTILE = {
    "blanks": " " * 60_000,
    "lines of blanks": (" " * 100 + "\n") * 600,
    "colons": "a:" * 30_000,
    "names": "api_key" * 10_000,
    "quotes": "\"'" * 30_000,
    "comments": "# TODO\n" * 5_000,
    "throws": "throw " * 12_000,
    "keys": "-----BEGIN " + "PRIVATE KEY-----" * 5_000,
}


@pytest.mark.parametrize("ending", ["py", "ts", "env"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_no_longer_than_its_length_does(text: str, ending: str) -> None:
    """Processor time: a text that took the square of its length would need minutes."""
    began = time.process_time()
    found(f"a.{ending}", text)
    assert time.process_time() - began < 10


# Through the tools.


@pytest.fixture
def tool(site: Site) -> Workspace:
    return site.tool(workspace_policies="generic,rust")


@pytest.fixture
def ready(site: Site, tool: Workspace) -> Workspace:
    site.allow(tool)
    site.begin(tool)
    return tool


def write(site: Site, tool: Workspace, path: str, content: str, before: str | None = None) -> dict[str, Any]:
    known = {} if before is None else {"expected_hash": hashlib.sha256(before.encode()).hexdigest()}
    return site.call(tool, "write_file", {"path": path, "content": content, **known})


def test_a_secret_is_not_written_and_not_repeated(site: Site, ready: Workspace) -> None:
    answer = write(site, ready, "conf/a.py", f'x = 1\ntoken = "{GITHUB}"\n')
    assert (answer["error_code"], answer["effect"]) == ("POLICY_VIOLATION", "none")
    (violation,) = answer["violations"]
    assert (violation["path"], violation["reason"]) == ("content", "value")
    assert "line 2" in violation["message"]
    assert violation["expected"]
    assert GITHUB not in json.dumps(answer) + (site.root / "audit-log.jsonl").read_text()
    assert not (site.project / "conf").exists()


def test_rust_that_panics_is_not_written(site: Site, ready: Workspace) -> None:
    answer = write(site, ready, "src/a.rs", "fn f() { x.unwrap(); }\nunsafe fn g() {}\n")
    assert (answer["error_code"], answer["effect"]) == ("RUST_POLICY_VIOLATION", "none")
    assert [one["path"] for one in answer["violations"]] == ["content", "content"]
    assert not (site.project / "src").exists()


def test_all_findings_are_reported_at_once_and_the_first_policy_gives_the_code(site: Site, ready: Workspace) -> None:
    answer = write(site, ready, "a.rs", "fn f() { x.unwrap(); } // TODO\n")
    assert (answer["error_code"], len(answer["violations"])) == ("POLICY_VIOLATION", 2)


def test_a_patch_is_held_to_the_same(site: Site, ready: Workspace) -> None:
    (site.project / "a.rs").write_text("fn f() {\n}\n")
    patch = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,3 @@\n fn f() {\n+    x.unwrap();\n }\n"
    answer = site.call(ready, "apply_patch", {"path": "a.rs", "patch": patch})
    assert (answer["error_code"], answer["effect"]) == ("RUST_POLICY_VIOLATION", "none")
    assert [one["path"] for one in answer["violations"]] == ["patch"]
    assert (site.project / "a.rs").read_text() == "fn f() {\n}\n"


def test_what_the_file_had_before_is_a_warning(site: Site, ready: Workspace) -> None:
    before = "fn f() {\n    x.unwrap();\n}\n"
    (site.project / "a.rs").write_text(before)
    answer = write(site, ready, "a.rs", "// more\nfn g() {}\nfn f() {\n  x.unwrap();\n}\n", before)
    assert answer["success"]
    assert len(answer["metadata"]["warnings"]) == 1
    assert "line 4" in answer["metadata"]["warnings"][0]


@pytest.mark.parametrize("after", ["x.unwrap();\nx.unwrap();\n", "y.unwrap();\n", "unsafe { x.unwrap(); }\n"])
def test_what_the_file_had_is_no_leave_for_more_of_it(site: Site, ready: Workspace, after: str) -> None:
    before = "x.unwrap();\n"
    (site.project / "a.rs").write_text(before)
    assert write(site, ready, "a.rs", after, before)["error_code"] == "RUST_POLICY_VIOLATION"


def test_a_secret_may_not_take_the_place_of_another(site: Site, ready: Workspace) -> None:
    (site.project / "a.pem").write_text(PEM)
    assert write(site, ready, "a.pem", PEM.replace("MIIE", "MIIF"), PEM)["error_code"] == "POLICY_VIOLATION"


def test_leaving_the_tests_makes_old_code_new(site: Site, ready: Workspace) -> None:
    before = "#[cfg(test)]\nfn f() { x.unwrap() }\n"
    (site.project / "a.rs").write_text(before)
    after = before.partition("\n")[2]
    assert write(site, ready, "a.rs", after, before)["error_code"] == "RUST_POLICY_VIOLATION"


def test_a_link_hides_no_ending(site: Site, ready: Workspace) -> None:
    (site.project / "a.rs").write_text("")
    (site.project / "a.txt").symlink_to("a.rs")
    assert write(site, ready, "a.txt", "unsafe {}", "")["error_code"] == "RUST_POLICY_VIOLATION"


def test_a_file_that_was_no_text_may_become_one(site: Site, ready: Workspace) -> None:
    (site.project / "a.rs").write_bytes(b"\xff\xfe unsafe")
    known = hashlib.sha256(b"\xff\xfe unsafe").hexdigest()
    wanted = {"path": "a.rs", "content": "fn f() {}", "expected_hash": known}
    assert site.call(ready, "write_file", wanted)["success"]


def test_the_settings_say_which_policies_there_are(site: Site) -> None:
    tool = site.tool(workspace_policies="")
    site.allow(tool)
    site.begin(tool)
    assert write(site, tool, "a.rs", "unsafe { todo!() }")["success"]


# Policies of third parties.

HOUSE = """
from failsoft import Conflict
from failsoft.tools.workspace import Finding


class House:
    name = "house"

    def findings(self, path, text):
        if "boom" in text:
            raise SystemExit(3)
        if "typed" in text:
            raise Conflict(message="The house rules are being rewritten.")
        if "odd" in text:
            yield "line 3"
        for at, line in enumerate(text.splitlines(), 1):
            if "\\t" in line:
                yield Finding("tab", at, "indent with spaces")


class Nameless:
    def findings(self, path, text):
        return ()


def broken():
    raise RuntimeError("no licence")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package of policies, as a package manager leaves one."""
    folder = tmp_path / "packages"
    (folder / "house_policies-1.dist-info").mkdir(parents=True)
    (folder / "house_policies.py").write_text(HOUSE)
    (folder / "house_policies-1.dist-info" / "METADATA").write_text("Name: house_policies\nVersion: 1\n")
    points = {"house": "House", "nameless": "Nameless", "broken": "broken", "gone": "Gone"}
    lines = [f"{name} = house_policies:{value}" for name, value in points.items()]
    (folder / "house_policies-1.dist-info" / "entry_points.txt").write_text("\n".join(["[failsoft.policies]", *lines]))
    monkeypatch.syspath_prepend(str(folder))
    yield
    import sys  # noqa: PLC0415 - to forget what only this test has

    sys.modules.pop("house_policies", None)


@pytest.mark.usefixtures("installed")
def test_a_policy_of_a_third_party_judges_too(site: Site) -> None:
    tool = site.tool(workspace_policies="house,rust")
    site.allow(tool)
    site.begin(tool)
    answer = write(site, tool, "a.rs", "\tunsafe {}\n")
    assert (answer["error_code"], len(answer["violations"])) == ("POLICY_VIOLATION", 2)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("text", "code"), [("boom", "INTERNAL_ERROR"), ("odd", "INTERNAL_ERROR"), ("typed", "CONFLICT")]
)
def test_a_policy_that_breaks_stops_the_write_with_a_typed_failure(site: Site, text: str, code: str) -> None:
    tool = site.tool(workspace_policies="generic,house")
    site.allow(tool)
    site.begin(tool)
    answer = write(site, tool, "a.txt", text)
    assert (answer["error_code"], answer["effect"]) == (code, "none")
    assert not (site.project / "a.txt").exists()


@pytest.mark.parametrize(("name", "closest"), [("rsut", "'rust'"), ("zzzzzz", None)])
def test_a_policy_that_does_not_exist_is_an_error_at_the_start(site: Site, name: str, closest: str | None) -> None:
    with pytest.raises(ConfigurationError) as caught:
        site.tool(workspace_policies=f"generic,{name}")
    assert "FAILSOFT_WORKSPACE_POLICIES" in caught.value.issue
    assert f"'{name}'" in caught.value.issue
    assert ("did you mean" in caught.value.issue) is (closest is not None)
    assert closest is None or closest in caught.value.issue


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["nameless", "broken", "gone"])
def test_a_policy_that_cannot_be_loaded_is_an_error_at_the_start(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_policies([name])
    assert f"'{name}'" in caught.value.issue


def test_a_finding_does_not_quote_the_text() -> None:
    (finding,) = generic.GenericPolicy().findings("a.md", GITHUB)
    assert GITHUB not in repr(finding)
    assert Finding("secret", 1, finding.advice) == finding
