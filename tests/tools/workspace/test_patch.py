"""Unified diffs applied to bytes: exactly, or not at all."""

from __future__ import annotations

import difflib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from failsoft.tools.workspace import PatchApplyFailed, PatchInvalid
from tests.doors import lines_of, read_patch
from tests.thorough import examples

FILE = b"one\ntwo\nthree\nfour\nfive\n"
PATCH = b"""\
--- a/x.md
+++ b/x.md
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""
contents = st.lists(
    st.sampled_from(
        [b"\n", b"a\n", b"b\n", b"c\r\n", b"-- x\n", b"++ y\n", b"@@ -1 +1 @@\n", b"\\ z\n", b"\xff\x00\n"]
    ),
    max_size=12,
).flatmap(lambda lines: st.sampled_from([b"".join(lines), b"".join(lines) + b"end", b"".join(lines) + b"\r"]))


def applied(patch: bytes, data: bytes = FILE, *, is_known: bool = False, path: str = "x.md") -> bytes:
    return read_patch(patch, path).applied_to(data, is_known=is_known)


def diffed(old: bytes, new: bytes, context: int = 3) -> bytes:
    """Return what `difflib` makes of two files, with the marker that it leaves to its caller."""
    lines = [[line.decode("latin-1") for line in lines_of(data)] for data in (old, new)]
    found = [line.encode("latin-1") for line in difflib.unified_diff(*lines, "a/x.md", "b/x.md", n=context)]
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in found)


@settings(max_examples=examples(400))
@given(contents, contents, st.integers(0, 3))
def test_what_difflib_makes_of_two_files_leads_from_one_to_the_other(old: bytes, new: bytes, context: int) -> None:
    assume(old != new)
    assert applied(diffed(old, new, context), old, is_known=True) == new


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents, contents, st.integers(0, 3))
def test_what_gnu_diff_makes_of_two_files_leads_from_one_to_the_other(
    tmp_path: Path, old: bytes, new: bytes, context: int
) -> None:
    assume(old != new)
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    command = ["diff", "-a", f"-U{context}", "--label=a/x.md", "--label=b/x.md", "old", "new"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert applied(found.stdout, old, is_known=True) == new


@settings(max_examples=examples(400))
@given(contents, contents, contents)
def test_a_patch_fits_only_where_every_line_that_it_expects_is_in_its_place(old: bytes, new: bytes, now: bytes) -> None:
    assume(old != new)
    patch = read_patch(diffed(old, new), "x.md")
    before, lines = lines_of(old), lines_of(now)
    spans = [(hunk.start, hunk.start + len(hunk.old)) for hunk in patch.hunks]
    ends_with_its_file = spans[-1][1] == len(before) and bool(before or new)
    fits = all(lines[start:end] == before[start:end] for start, end in spans)
    try:
        result = patch.applied_to(now, is_known=False)
    except PatchApplyFailed:
        assert not fits or ends_with_its_file
    else:
        assert fits
        rest = lines[spans[-1][1] :]
        assert result.endswith(b"".join(rest))
        assert len(lines_of(result)) == len(lines) + len(lines_of(new)) - len(before)


def perturbed(patch: bytes, place: int, how: str) -> bytes:
    """Return the patch with one thing wrong in it, at a line of a hunk or its header."""
    lines = patch.splitlines(keepends=True) if b"\r" not in patch else lines_of(patch)
    place = 2 + place % (len(lines) - 2)
    line = lines[place]
    if line.startswith(b"@@") and how not in {"drop", "double"}:
        numbers = re.sub(
            rb"\d+", lambda found: str(int(found.group()) + 1).encode(), line.partition(b" @@")[0], count=1
        )
        lines[place] = numbers + b" @@\n"
    elif how == "drop":
        del lines[place]
    elif how == "double":
        lines.insert(place, line)
    elif how == "sign":
        lines[place] = (b"+" if line[:1] != b"+" else b"-") + line[1:]
    else:
        lines[place] = line[:1] + b"other " + line[1:]
    return b"".join(lines)


@settings(max_examples=examples(400))
@given(contents, contents, st.integers(0, 40), st.sampled_from(["drop", "double", "sign", "text"]))
def test_a_patch_with_one_thing_wrong_is_refused(old: bytes, new: bytes, place: int, how: str) -> None:
    assume(old != new)
    patch = diffed(old, new)
    lines = lines_of(patch)
    line = lines[2 + place % (len(lines) - 2)]
    assume(not (how == "text" and line[:1] in b"+\\"))  # what is added may be anything, and what the marker says, too
    after_added = lines[1 + place % (len(lines) - 2)][:1] == b"+"
    assume(not (how == "drop" and line[:1] == b"\\" and after_added))  # a newline more at the end is no less right
    assume(not (how == "sign" and line[:1] == b"\\"))
    with pytest.raises((PatchInvalid, PatchApplyFailed)):
        applied(perturbed(patch, place, how), old)


def test_a_patch_needs_no_header_and_no_newline_at_its_end() -> None:
    body = PATCH.partition(b"+++ b/x.md\n")[2]
    assert applied(PATCH) == applied(body) == applied(body[:-1]) == FILE.replace(b"two", b"TWO")


@pytest.mark.parametrize(
    "header",
    [
        b"--- x.md\n+++ x.md\n",
        b"--- a/x.md\t2026-01-19 15:32:10.000000000 +0000\n+++ b/x.md\t2026-01-19 15:32:11.000000000 +0000\n",
        b"--- ./x.md\n+++ b//x.md\n",
        b"diff --git a/x.md b/x.md\nindex 83db48f..bf12ab0 100644\n--- a/x.md\n+++ b/x.md\n",
        b'--- "a/x.md"\n+++ "b/\\170.md"\n',
    ],
)
def test_the_header_may_name_the_file_in_these_ways(header: bytes) -> None:
    assert b"TWO" in applied(header + PATCH.partition(b"+++ b/x.md\n")[2])


def test_a_name_with_letters_and_blanks_of_all_kinds_is_known_however_it_is_quoted() -> None:
    path = 'grün "x" y.md'
    body = PATCH.partition(b"+++ b/x.md\n")[2]
    quoted = b'"%%s/gr\\303\\274n \\"x\\" y.md"'.replace(b"%%", b"%")
    for old, new in ((f"a/{path}".encode(), f"b/{path}".encode()), (quoted % b"a", quoted % b"b")):
        git = b"diff --git %s %s\n" % (old, new)
        assert b"TWO" in applied(git + b"--- %s\n+++ %s\n" % (old, new) + body, path=path)


@pytest.mark.parametrize("git", [b"", b"diff --git a/x.md b/x.md\nnew file mode 100644\nindex 0000000..bf12ab0\n"])
def test_a_patch_from_nothing_makes_a_file(git: bytes) -> None:
    patch = read_patch(
        git + b"--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n", "x.md"
    )
    assert (patch.is_new, patch.applied_to(b"", is_known=True)) == (True, b"one\ntwo")


HEADER = b"--- a/x.md\n+++ b/x.md\n"
INVALID = {
    "empty but for a newline": (b"\n", 1),
    "no hunk": (HEADER, 2),
    "words before it": (b"Here it is:\n" + PATCH, 1),
    "words behind it": (PATCH + b"done\n", 8),
    "an empty line behind it": (PATCH + b"\n", 8),
    "an empty line in a hunk": (b"@@ -1,3 +1,3 @@\n one\n\n-two\n+TWO\n", 3),
    "a fence": (b"```diff\n" + PATCH + b"```\n", 1),
    "another file": (PATCH.replace(b"x.md", b"y.md"), 1),
    "a new name": (PATCH.replace(b"+++ b/x.md", b"+++ b/y.md"), 2),
    "an absolute name": (PATCH.replace(b"--- a/x.md", b"--- /x.md"), 1),
    "one half of a header": (PATCH.replace(b"+++ b/x.md\n", b""), 2),
    "two files": (PATCH + b"--- a/y.md\n+++ b/y.md\n@@ -1 +1 @@\n-a\n+b\n", 8),
    "two files of Git": (PATCH + b"diff --git a/y.md b/y.md\n", 8),
    "a deletion": (b"--- a/x.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", 2),
    "a deletion of Git": (b"diff --git a/x.md b/x.md\ndeleted file mode 100644\n", 2),
    "a renaming": (b"diff --git a/x.md b/y.md\nsimilarity index 100%\nrename from x.md\nrename to y.md\n", 1),
    "a renaming with one name": (b"diff --git a/x.md b/x.md\nrename from x.md\n", 2),
    "a mode": (b"diff --git a/x.md b/x.md\nold mode 100644\nnew mode 100755\n", 2),
    "a new program": (b"diff --git a/x.md b/x.md\nnew file mode 100755\n", 2),
    "a new link": (b"diff --git a/x.md b/x.md\nnew file mode 120000\n", 2),
    "a binary patch": (b"diff --git a/x.md b/x.md\nGIT binary patch\n", 2),
    "binary files": (b"Binary files a/x.md and b/x.md differ\n", 1),
    "a file that is new and old": (b"diff --git a/x.md b/x.md\nnew file mode 100644\n" + PATCH, 5),
    "a new file with context": (b"--- /dev/null\n+++ b/x.md\n@@ -1 +1,2 @@\n one\n+two\n", 5),
    "a new file that begins later": (b"--- /dev/null\n+++ b/x.md\n@@ -1,0 +2 @@\n+two\n", 4),
    "a header with CR": (PATCH.replace(b"a/x.md\n", b"a/x.md\r\n"), 1),
    "a hunk with CR": (PATCH.replace(b"@@\n", b"@@\r\n"), 3),
    "fewer lines": (PATCH[:-7], 6),
    "more lines": (PATCH + b" four\n", 8),
    "more old lines": (b"@@ -1,1 +1,2 @@\n-one\n-two\n+ONE\n+TWO\n", 3),
    "only context": (b"@@ -1,2 +1,2 @@\n one\n two\n", 1),
    "nothing": (b"@@ -1,0 +1,0 @@\n", 1),
    "line 0": (b"@@ -0 +0 @@\n-one\n+ONE\n", 1),
    "a wrong place in the new file": (PATCH.replace(b"+1,3", b"+2,3"), 3),
    "hunks in the wrong order": (b"@@ -3 +3 @@\n-three\n+THREE\n@@ -1 +1 @@\n-one\n+ONE\n", 4),
    "hunks that overlap": (b"@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -2 +2 @@\n-two\n+TWO\n", 5),
    "a number without end": (b"@@ -" + b"9" * 5_000 + b" +1 @@\n-one\n+ONE\n", 1),
    "a number in other digits": ("@@ -\u0661 +1 @@\n-one\n+ONE\n".encode(), 1),
    "a marker without a line": (b"@@ -1 +1 @@\n\\ No newline at end of file\n-one\n+ONE\n", 2),
    "a marker for a marker": (b"@@ -1 +1 @@\n-one\n\\ No newline\n\\ No newline\n+ONE\n", 4),
    "a line behind the last": (b"@@ -1,2 +1 @@\n-one\n\\ No newline\n-two\n+ONE\n", 4),
    "a new line behind the last": (b"@@ -1 +1,2 @@\n-one\n+ONE\n\\ No newline\n+TWO\n", 5),
    "context behind the last": (b"@@ -1,2 +1,2 @@\n-one\n+ONE\n\\ No newline\n two\n", 5),
}


@pytest.mark.parametrize("kind", INVALID)
def test_what_is_no_patch_for_this_file_is_refused_with_its_line(kind: str) -> None:
    patch, line = INVALID[kind]
    with pytest.raises(PatchInvalid) as refused:
        read_patch(patch, "x.md")
    assert refused.value.line == line
    assert [(fault.path, fault.reason) for fault in refused.value.violations] == [("patch", "format")]


MISFITS = {
    "another line": (PATCH, b"one\n2\nthree\n", 1, 2),
    "other context": (PATCH, b"one\ntwo\n3\n", 1, 3),
    "a line lower": (PATCH, b"zero\n" + FILE, 1, 1),
    "a shorter file": (PATCH, b"one\ntwo\n", 1, 3),
    "an empty file": (PATCH, b"", 1, 1),
    "CRLF in the file": (PATCH, FILE.replace(b"\n", b"\r\n"), 1, 1),
    "CRLF in the patch": (b"@@ -1 +1 @@\n-one\r\n+ONE\r\n", FILE, 1, 1),
    "a blank at the end": (b"@@ -1 +1 @@\n-one \n+ONE\n", FILE, 1, 1),
    "no newline in the file": (b"@@ -1 +1 @@\n-one\n+ONE\n", b"one", 1, 1),
    "no newline in the patch": (b"@@ -1 +1 @@\n-one\n\\ No newline\n+ONE\n", b"one\n", 1, 1),
    "an end that is none": (b"@@ -1 +1 @@\n-one\n+ONE\n\\ No newline\n", FILE, 1, 2),
    "the second hunk": (b"@@ -1 +1 @@\n-one\n+ONE\n@@ -5 +5 @@\n-six\n+SIX\n", FILE, 2, 5),
    "a file that should be empty": (b"@@ -0,0 +1 @@\n+zero\n", FILE, 1, 1),
    "nothing around it": (b"@@ -5,0 +6 @@\n+six\n", FILE, 1, 6),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_what_does_not_fit_the_file_is_refused_with_its_hunk_and_line(kind: str) -> None:
    patch, data, hunk, line = MISFITS[kind]
    with pytest.raises(PatchApplyFailed) as refused:
        applied(patch, data)
    assert (refused.value.hunk, refused.value.line) == (hunk, line)
    assert refused.value.suggestions


def test_a_hunk_without_context_needs_a_file_that_is_known() -> None:
    assert applied(b"@@ -5,0 +6 @@\n+six\n", is_known=True) == FILE + b"six\n"
    for start in (6, 999_999_998):
        with pytest.raises(PatchApplyFailed):
            applied(b"@@ -%d,0 +%d @@\n+six\n" % (start, start + 1), is_known=True)
    with pytest.raises(PatchApplyFailed):  # it would become one line with the last
        applied(b"@@ -5,0 +6 @@\n+six\n", FILE[:-1], is_known=True)


def test_what_was_expected_and_found_is_reported_in_short() -> None:
    with pytest.raises(PatchApplyFailed) as refused:
        applied(PATCH, b"one\n" + b"x" * 100_000 + b"\nthree\n")
    expected, found = refused.value.suggestions
    assert expected == 'Expected: "two"'
    assert len(found) < 300
