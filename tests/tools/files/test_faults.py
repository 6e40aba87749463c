"""From an errno and a step to the kind of fault, and from the kind to a toolset's error."""

from __future__ import annotations

import copy
import errno
import pickle

import pytest

from failsoft import ToolError
from tests.doors import FaultTable, FileFault, kind_of


@pytest.mark.parametrize(
    ("number", "step", "kind"),
    [
        (errno.ENOENT, "find", "missing"),
        (errno.ENOENT, "stage", "vanished"),
        (errno.ENOTDIR, "find", "not_a_folder"),
        (errno.EEXIST, "rename", "exists"),
        (errno.EEXIST, "stage", "failed"),
        (errno.EPERM, "rename", "denied"),
        (errno.EDQUOT, "sync", "disk_full"),
        (errno.EROFS, "stage", "read_only"),
        (errno.ENOSPC, "backup", "backup"),
        (errno.EACCES, "lock", "state_folder"),
        (errno.ENOSPC, "journal", "state_folder"),
        (errno.ENAMETOOLONG, "find", "name_too_long"),
        (errno.EBUSY, "rename", "failed"),
        (0, "read", "failed"),
    ],
)
def test_errno_and_step_tell_the_kind(number: int, step: str, kind: str) -> None:
    assert kind_of(number, step) == kind
    fault = FileFault.from_os(number, "a", step=step)
    assert (fault.kind, fault.errno, fault.step, fault.effect) == (kind, number, step, "none")


def test_a_table_gives_the_error_of_the_kind_with_the_effect_of_the_fault() -> None:
    table = FaultTable(
        {"changed": lambda fault, call: ToolError(message=f"{fault.path} {call}")},
        otherwise=lambda fault, _: ToolError(message=fault.kind),
    )

    error = table.to_error(FileFault("a", "changed", effect="unknown"), "now")
    assert (error.message, error.effect) == ("a now", "unknown")
    assert table.to_error(FileFault("a", "locked", waited_s=1.0), "now").message == "locked"


def test_a_fault_is_the_same_after_a_copy_and_in_another_process() -> None:
    fault = FileFault.from_os(errno.ENOSPC, "a", step="stage")
    fault.effect = "unknown"
    for other in (copy.copy(fault), pickle.loads(pickle.dumps(fault))):  # noqa: S301 - our own
        assert (other.kind, other.path, other.effect, other.facts) == (fault.kind, "a", "unknown", fault.facts)
        assert str(other) == "stage: no space left on device: a"
