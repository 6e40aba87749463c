"""What the policy for Rust takes for code, and which code it leaves to tests."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from tests.doors import load_policies

pytest.importorskip("tree_sitter_rust")

(RUST,) = load_policies(["rust"])
CLEAN = {
    "a line comment": "// unsafe { x.unwrap() }\n",
    "a doc comment": "/// x.unwrap();\n//! unsafe\nfn f() {}",
    "a block comment": "/* unsafe */ /* x.unwrap() */",
    "comments within comments": "/* a /* b */ unsafe x.unwrap() /* c */ */ fn f() {}",
    "a comment that begins like one that ends": "/*/ unsafe */",
    "a string": 'let s = "unsafe { x.unwrap() }";',
    "a string with an escaped quote": r'let s = "\" unsafe"; let t = "\\"; // unsafe',
    "a string over lines": 'let s = "a\\\n  unsafe\n x.unwrap()";',
    "a byte string": 'let s = b"unsafe"; let c = c"x.unwrap()";',
    "a raw string": 'let s = r"\\"; let t = r"unsafe";',
    "a raw string with hashes": 'let s = r#"a " unsafe "#; let t = br##"x "# unsafe "##; let u = cr#"unsafe"#;',
    "a character that is a quote": "let c = '\"'; let d = '\\''; let e = b'\"'; // unsafe \"",
    "characters by number": r"let c = '\u{22}'; let d = '\x22'; let e = '\n'; let f = '\\'; // unsafe",
    "lifetimes": "fn f<'a, 'b: 'a>(x: &'a str, y: &'b str) -> &'a str { 'outer: loop { break 'outer } }",
    "a lifetime beside a string": "fn f<'r>(x: &'r str) { g(\"unsafe\") }",
    "an identifier with the word in it": "#![forbid(unsafe_code)]\nfn not_unsafe() { let unsafe_ = 1; }",
    "a raw identifier": "let r#unsafe = 1;",
    "what does not panic": "x.unwrap_or(1); x.unwrap_or_else(f); x.unwrap_or_default(); y.expected(); z.unwrapped();",
    "a field of that name": "let f = x.unwrap; struct S { expect: u8 }",
    "an expect of a parser": "self.expect(Token::Comma)?; self . expect (x);",
    "a shebang with a quote": '#!/usr/bin/env -S "cargo\nfn f() {}\n',
    "nothing": "",
    "a test": '#[test]\nfn f() { x.unwrap(); y.expect("m") }',
    "a module of tests": "#[cfg(test)]\nmod tests { use super::*; #[test] fn f() { x.unwrap() } }",
    "a test of a runtime": '#[tokio::test(flavor = "multi_thread")]\nasync fn f<T, U>(a: [u8; 3]) { x.unwrap() }',
    "attributes behind": '#[cfg(test)]\n#[allow(dead_code)] /* c */ #[x(a = "]")]\npub(crate) fn f() { x.unwrap() }',
    "a test among several conditions": '#[cfg(all(test, feature = "x"))]\nfn f() { x.unwrap() }',
    "several conditions, all of tests": "#[cfg(any(test, all(test, unix)))]\nfn f() { x.unwrap() }",
    "a file of tests": "// c\n#![allow(x)]\n#![cfg(test)]\nfn f() { x.unwrap() }",
    "a statement of tests": "fn f() { #[cfg(test)] let y = { z.unwrap() }.unwrap(); }",
    "a constant of tests": "#[cfg(test)]\nconst A: [u8; 2] = [x.unwrap(), { y.unwrap() }];",
    "a field of tests": "S { #[cfg(test)] a: x.unwrap(), b: 1 }",
    "the last field, of tests": "S { b: 1, #[cfg(test)] a: x.unwrap() }",
    "an arm of tests": "match x { #[cfg(test)] A => y.unwrap(), B => 1 }",
    "an inner module of tests": "mod tests {\n// c\n#![cfg(test)]\nfn f() { x.unwrap() } }",
    "an expect of a parser in a macro": "m!(self.expect(x))",
    "words": '// todo!()\nlet s = "todo!()"; mytodo!(); todo;',
    "a benchmark": "#[bench]\nfn f(b: &mut Bencher) { x.unwrap() }",
}
BROKEN = {
    "a block": ("fn f() {\n    unsafe { g() }\n}", [("unsafe", 2)]),
    "a function": ("unsafe fn f() {}\nunsafe impl Send for S {}", [("unsafe", 1), ("unsafe", 2)]),
    "an attribute": ("#[unsafe(no_mangle)]\nfn f() {}", [("unsafe", 1)]),
    "in a test, too": ("#[test]\nfn f() { unsafe {} }", [("unsafe", 2)]),
    "behind a comment that ends": ("/* a /* b */ c */ unsafe {}", [("unsafe", 1)]),
    "behind a string that ends": ('let s = "\\\\"; unsafe {}', [("unsafe", 1)]),
    "behind a raw string that ends": ('let s = r#"\\"#; unsafe {}', [("unsafe", 1)]),
    "behind a character": ("let c = '\\\\'; let d = 'x'; unsafe {}", [("unsafe", 1)]),
    "between lifetimes": ("fn f<'a>() { unsafe { g::<'a>() } }", [("unsafe", 1)]),
    "behind a raw identifier": ('let r#x = "a"; unsafe {}', [("unsafe", 1)]),
    "behind a shebang": ('#!/bin/run "\nunsafe fn f() {}', [("unsafe", 2)]),
    "an inner attribute is no shebang": ('#![a = "x"] unsafe fn f() {}', [("unsafe", 1)]),
    "a call": ('x\n  .unwrap()\n  .expect("m");', [("unwrap", 2), ("expect", 3)]),
    "a call with a comment in it": ("x./* c */unwrap /* d */ ()", [("unwrap", 1)]),
    "a call with a long comment in it": (f"x.unwrap /*{'*' * 500}*/ //\n ()", [("unwrap", 1)]),
    "a call with empty type arguments": ("x.unwrap::<>()", [("unwrap", 1)]),
    "macros by their raw names": ("fn f() { r#panic!(); r#todo!() }", [("panic", 1), ("stub", 1)]),
    "a static with a comment in it": ("static /* c */ mut X: u8 = 0;", [("static-mut", 1)]),
    "a call by its raw name": ("x.r#unwrap()", [("unwrap", 1)]),
    "its other forms": ('x.unwrap_err(); y.expect_err("m");', [("unwrap", 1), ("expect", 1)]),
    "by the path": ('x.map(Option::unwrap); Result::<u8, E>::expect(x, "m")', [("unwrap", 1), ("expect", 1)]),
    "by the path of a type in brackets": (
        'x.map(<Option<u8>>::unwrap); <std::result::Result<u8, E>>::expect(x, "m")',
        [("unwrap", 1), ("expect", 1)],
    ),
    "by another name of the type": ("use Option as O;\nO::unwrap(x); T::<u8>::unwrap_err(x)", [("unwrap", 2)] * 2),
    "unwrap of self": ("self.unwrap()", [("unwrap", 1)]),
    "expect of something in self": ('self.x.expect("m")', [("expect", 1)]),
    "not only in tests": ("#[cfg(any(test, unix))]\nfn f() { x.unwrap() }", [("unwrap", 2)]),
    "anywhere but in tests": ("#[cfg(not(test))]\nfn f() { x.unwrap() }", [("unwrap", 2)]),
    "a feature that is called test": ('#[cfg(feature = "test")]\nfn f() { x.unwrap() }', [("unwrap", 2)]),
    "tests only change an attribute": ("#[cfg_attr(test, x)]\nfn f() { x.unwrap() }", [("unwrap", 2)]),
    "an attribute of another name": ("#[testing]\nfn f() { x.unwrap() }", [("unwrap", 2)]),
    "behind a test": ("#[test]\nfn f() {}\nfn g() { x.unwrap() }", [("unwrap", 3)]),
    "behind an import of tests": ("#[cfg(test)] use a::{b, c}; fn g() { x.unwrap() }", [("unwrap", 1)]),
    "behind a module of tests elsewhere": ("#[cfg(test)]\nmod tests;\nfn g() { x.unwrap() }", [("unwrap", 3)]),
    "behind a field of tests": ("S { #[cfg(test)] a: 1, b: x.unwrap() }", [("unwrap", 1)]),
    "behind the last field of tests": ("f(S { #[cfg(test)] a: 1 }, x.unwrap())", [("unwrap", 1)]),
    "an attribute in a comment": ("// #[test]\nfn f() { x.unwrap() }", [("unwrap", 2)]),
    "an attribute in a string": ('let s = "#[test]"; fn f() { x.unwrap() }', [("unwrap", 1)]),
    "a stub": ('fn f() { todo!() }\n#[test]\nfn g() { std::unimplemented!("x") }', [("stub", 1), ("stub", 3)]),
    "within a macro": (
        'm! { unsafe { x.unwrap() } O::unwrap(x); static mut A; y.expect("m"); Option::expect(x); panic!(todo!()) }',
        [(rule, 1) for rule in ("unsafe", "unwrap", "unwrap", "static-mut", "expect", "expect", "panic", "stub")],
    ),
    "an inner attribute further down": ("fn f() {}\n#![cfg(test)]\nfn g() { x.unwrap() }", [("unwrap", 3)]),
}


def found(text: str, path: str = "src/lib.rs") -> list[tuple[str, int]]:
    return [(one.rule, one.line) for one in RUST.findings(path, text)]


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_what_is_no_code_or_belongs_to_tests_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(("text", "expected"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_a_rule_is_found_on_its_line(text: str, expected: list[tuple[str, int]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize("path", ["src/lib.RS", "src/lib.Rs"])
def test_the_ending_of_a_file_counts_in_any_case(path: str) -> None:
    assert found("unsafe fn f() {}", path) == [("unsafe", 1)]


@pytest.mark.parametrize("path", ["tests/it.rs", "crates/a/tests/sub/b.rs", "src/parser/tests.rs"])
def test_files_of_tests_may_unwrap_and_may_not_be_unsafe(path: str) -> None:
    assert found("fn f() { x.unwrap(); unsafe {} }", path) == [("unsafe", 1)]


@pytest.mark.parametrize("path", ["src/latests/a.rs", "src/tests_of.rs", "benches/a.rs", "tests.d/a.rs"])
def test_files_of_a_similar_name_are_no_tests(path: str) -> None:
    assert found("fn f() { x.unwrap() }", path) == [("unwrap", 1)]


@pytest.mark.parametrize("path", ["src/lib.py", "README.md", "rs", "a.rs.txt"])
def test_other_files_are_none_of_its_business(path: str) -> None:
    assert found("unsafe x.unwrap()", path) == []


PIECES = st.sampled_from(
    [
        *(
            "// c\n",
            "/* c */",
            "/* a /* b */ */",
            '"a"',
            r'"\""',
            'r"\\"',
            'r#"a"b"#',
            "'a'",
            "'\\''",
            "'\"'",
            "b'\\\\'",
        ),
        *("'a ", "'static ", "r#type ", "fn f() {} ", "x ", "\n", "{} ", "#[inline] ", "1.0 ", "_ "),
    ]
)


@given(st.lists(PIECES), st.lists(PIECES))
def test_code_between_any_tokens_is_found_at_its_position(before: list[str], behind: list[str]) -> None:
    head = " ".join(before)
    assert found(f"m! [ {head} unsafe {' '.join(behind)} ]") == [("unsafe", head.count("\n") + 1)]


HOSTILE = {
    "brackets": "#[test] fn f() " + "{" * 100_000 + "x.unwrap()",
    "keywords": "x.unwrap() " + "fn " * 60_000,
    "attributes": "#[test]" * 40_000 + "x.unwrap()",
    "open attributes": "#[" * 60_000 + "x.unwrap()",
    "conditions": "#[cfg(" + "all(" * 50_000 + "x.unwrap()",
    "open comments": "/*" * 60_000,
    "quotes": "'" * 60_000 + " x.unwrap()",
    "hashes": 'r"' + '#"' * 60_000,
    "dots": "x" + "." * 60_000 + "unwrap()",
    "paths": "Option::<" * 20_000 + "x.unwrap()",
    "blanks": " " * 60_000,
    "blanks in a call": "." + " " * 60_000 + "unwrap()",
    "calls": "x" + ".unwrap()" * 10_000,
    "calls in a macro": "m!(" + "x.unwrap();" * 10_000,
    "tests in tests": "#[test] mod a {" * 20_000 + "x.unwrap()",
    "inner attributes": "#![a]" * 3_000 + "#![cfg(test)]" + "x.unwrap()",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_no_longer_than_its_length_does(text: str) -> None:
    """Processor time: a text that took the square of its length would need minutes."""
    began = time.process_time()
    found(text)
    assert time.process_time() - began < 10
