"""The policies that parse: what `python` and `typescript` find, where, and what they leave alone."""

from __future__ import annotations

import sys

import pytest

from failsoft import ConfigurationError
from failsoft.tools.workspace import Policy, PolicyViolation
from tests.doors import LANGUAGES, judge_write, load_policies, rules_of

pytest.importorskip("tree_sitter")

PYTHON, TYPESCRIPT, RUST = load_policies(["python", "typescript", "rust"])
FOUND = {
    "an empty except": (PYTHON, "a.py", "try:\n    f()\nexcept E:\n    pass\n", [("empty-except", 3, 1)]),
    "a bare except with dots": (PYTHON, "a.py", "try: f()\nexcept:\n    # x\n    ...\n", [("empty-except", 2, 1)]),
    "eval and exec": (PYTHON, "a.py", "ä = 'é'; eval(x)\nbuiltins.exec(y)\n", [("eval", 1, 10), ("exec", 2, 10)]),
    "eval in an except": (
        PYTHON,
        "a.py",
        "try:\n  'ä'\nexcept eval('E'):\n  pass\n",
        [("empty-except", 3, 1), ("eval", 3, 8)],
    ),
    "an empty catch": (
        TYPESCRIPT,
        "a.ts",
        "try { f() } catch { /* x */ }\ntry { f() } catch (e) {}",
        [("empty-catch", 1, 13), ("empty-catch", 2, 13)],
    ),
    "code from text": (
        TYPESCRIPT,
        "a.tsx",
        "eval(a); window.eval(b);\nnew Function(c)",
        [("eval", 1, 1), ("eval", 1, 17), ("eval", 2, 5)],
    ),
    "a silenced type checker": (
        TYPESCRIPT,
        "a.js",
        "// @ts-nocheck\nf(); /* @ts-ignore */",
        [("ts-ignore", 1, 1), ("ts-ignore", 2, 6)],
    ),
    "a stub in TypeScript": (
        TYPESCRIPT,
        "a.ts",
        'function f() {\n  throw new Error("Not implemented");\n}\nthrow Error(`TODO: x`)',
        [("stub", 2, 3), ("stub", 4, 1)],
    ),
    "a stub in Python": (PYTHON, "a.py", "def f():\n    raise NotImplementedError\n", [("stub", 2, 5)]),
    "a stub in a class": (
        PYTHON,
        "a.py",
        "class A:\n    @property\n    def f(self):\n        raise NotImplementedError('x')\n",
        [("stub", 4, 9)],
    ),
    "a panic": (RUST, "a.rs", 'fn f() { panic!("x") }', [("panic", 1, 10)]),
    "a mutable static": (RUST, "a.rs", "pub static mut N: u8 = 0;", [("static-mut", 1, 5)]),
}
FOUND |= {
    f"an except with the idle statement {idle}": (
        PYTHON,
        "a.py",
        f"try: f()\nexcept E: {idle}\n",
        [("empty-except", 2, 1)],
    )
    for idle in ("None", "0", "'x'", "E", "pass; ...")
}
FOUND |= {
    f"a catch with the idle statement {idle}": (
        TYPESCRIPT,
        "a.ts",
        f"try {{ f() }} catch (e) {{ {idle} }}",
        [("empty-catch", 1, 13)],
    )
    for idle in (";", "e", "e;", "null", "0;")
}
FOUND |= {
    f"Python written as {text!a}": (PYTHON, path, text, [(rule, line, column)])
    for path, text, rule, line, column in (
        ("a.py", "x = '\uff45'; \uff45\uff56\uff41\uff4c(y)", "eval", 1, 10),
        ("a.py", "(\U0001d41e\U0001d42f\U0001d41a\U0001d425)(x)", "eval", 1, 2),
        ("a.py", "(exec  # x\n)(y)", "exec", 1, 2),
        ("a.pyw", "eval(x)", "eval", 1, 1),
        ("a.py", "try: f()\nexcept E: (), [1, -x]", "empty-except", 2, 1),
        ("a.py", "def f():\n    raise builtins.NotImplementedError", "stub", 2, 5),
        ("a.py", "@not_abstractmethod\ndef f():\n    raise NotImplementedError", "stub", 3, 5),
    )
}
FOUND |= {
    f"TypeScript written as {text!a}": (TYPESCRIPT, "a.ts", text, [(rule, 1, column)])
    for text, rule, column in (
        ("(eval)(x)", "eval", 2),
        ("(0, eval)(x)", "eval", 5),
        ("(eval as any)(x)", "eval", 2),
        ("eval.call(null, x)", "eval", 1),
        ("window['eval'](x)", "eval", 9),
        ("top.eval(x)", "eval", 5),
        ("new window.Function(x)", "eval", 12),
        ("///              @ts-ignore", "ts-ignore", 1),
        ("/* why\n * @ts-ignore */", "ts-ignore", 1),
        ("try { f() } catch { { void 0; (-1); `x` } }", "empty-catch", 13),
        ("throw new TypeError('not-yet-implemented')", "stub", 1),
    )
}
LEFT_ALONE = {
    "an except whose value calls": (PYTHON, "a.py", "try: f()\nexcept E: (g(),)\n"),
    "a catch whose block calls": (TYPESCRIPT, "a.ts", "try { f() } catch { { g() } }\ntry { f() } catch { `${g()}` }"),
    "an abstract property": (PYTHON, "a.py", "@abc.abstractproperty\ndef f(x):\n    raise NotImplementedError\n"),
    "an except that handles": (PYTHON, "a.py", "try:\n    f()\nexcept E:\n    log()\n"),
    "a method named eval": (PYTHON, "a.py", "df.eval('x'); model.eval(); '''eval(x)'''  # eval(x)\n"),
    "another ending": (PYTHON, "a.md", "try: f()\nexcept: pass\n"),
    "an abstract method": (
        PYTHON,
        "a.py",
        "class A:\n    @property\n    @abc.abstractmethod\n    def f(self):\n        raise NotImplementedError\n",
    ),
    "stubs in comments and texts": (
        PYTHON,
        "a.py",
        '"""\nraise NotImplementedError\n"""\ndef f():\n    # raise NotImplementedError\n    g()',
    ),
    "stubs in comments of TypeScript": (
        TYPESCRIPT,
        "a.ts",
        '// throw new Error("not implemented")\nthrow new Error("no file")',
    ),
    "a catch that handles": (TYPESCRIPT, "a.ts", "try { f() } catch (e) { log(e) }\nx.eval(y); 'eval(x)'"),
    "an expected error": (TYPESCRIPT, "a.ts", "// @ts-expect-error the types are wrong\nf()"),
    "panics in tests": (RUST, "a.rs", '#[cfg(test)]\nmod t { fn f() { panic!("x") } }\n#[should_panic]\nfn g() {}'),
}


@pytest.mark.parametrize(("policy", "path", "text", "expected"), FOUND.values(), ids=FOUND)
def test_it_is_found_with_line_and_column(
    policy: Policy, path: str, text: str, expected: list[tuple[str, int, int]]
) -> None:
    found = [(one.rule, one.line, one.column) for one in policy.findings(path, text)]
    assert found == expected
    assert {rule for rule, *_ in found} <= policy.rules  # type: ignore[attr-defined]  # the built-in ones list theirs


@pytest.mark.parametrize(("policy", "path", "text"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_it_is_left_alone(policy: Policy, path: str, text: str) -> None:
    assert list(policy.findings(path, text)) == []


BROKEN = {"(": 100_000, "except:\n": 20_000, "catch {": 20_000, "\ud800eval(x)": 100, "x.eval()": 10_000}


@pytest.mark.parametrize("text", [part * times for part, times in BROKEN.items()], ids=map(ascii, BROKEN))
def test_broken_source_ends_in_findings_and_not_in_an_exception(text: str) -> None:
    assert all(one.line > 0 for one in PYTHON.findings("a.py", text))
    assert all(one.line > 0 for one in TYPESCRIPT.findings("a.ts", text))


GREEDY = "eval(x)\n" + "/*a1B2" * 4_000
"""The parser takes the square of its length in memory, and would need 7 GB."""


def test_a_text_that_the_parser_cannot_finish_is_one_finding_that_covers_it() -> None:
    assert [(one.rule, one.line, one.lines) for one in PYTHON.findings("a.py", GREEDY)] == [("unchecked", 1, 2)]
    assert "unchecked" in (rules_of([PYTHON, TYPESCRIPT, RUST]) or ())


@pytest.mark.parametrize("line", ["\n", "/*\n"], ids=ascii)
def test_a_comment_of_many_lines_is_checked_in_time(line: str) -> None:
    text = f"/*{line * 60_000}*/\neval(x); // @ts-ignore\n"
    assert [one.rule for one in TYPESCRIPT.findings("a.ts", text)] == ["eval", "ts-ignore"]


def test_a_file_that_could_not_be_checked_is_not_changed_without_a_waiver() -> None:
    changed = GREEDY.replace("/*", "/ *", 1).encode()
    with pytest.raises(PolicyViolation) as refused:
        judge_write([PYTHON], "a.py", changed, GREEDY.encode(), parameter="content")
    assert [finding["rule"] for finding in refused.value.findings] == ["unchecked"]
    assert judge_write([PYTHON], "a.py", changed, None, parameter="content", waived=["unchecked"])


def test_places_are_the_same_whether_the_parser_runs_apart() -> None:
    short = "ä = 'é'; eval(x)\nexec(y)\n"
    found = list(PYTHON.findings("a.py", short + "#" * 3_000))
    assert found == list(PYTHON.findings("a.py", short))


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_without_the_extra_is_an_error_at_the_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, LANGUAGES[name].grammar, None)
    with pytest.raises(ConfigurationError, match=f"'{name}'.*{LANGUAGES[name].grammar}") as error:
        load_policies([name])
    assert "pip install 'failsoft[policies]'" in str(error.value.resolution)


def test_rules_are_known_where_every_policy_lists_them() -> None:
    class House:
        name = "house"

        def findings(self, path: str, text: str) -> list[object]:
            return []

    assert {"unwrap", "eval", "empty-catch"} <= (rules_of([PYTHON, TYPESCRIPT, RUST]) or frozenset())
    assert rules_of([PYTHON, House()]) is None  # type: ignore[list-item]  # a third-party policy
