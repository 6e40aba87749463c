"""The error of jobs."""

from __future__ import annotations

from failsoft.framework.errors import NotFound


class JobNotFound(NotFound):
    """There is no job with this id that the caller may see.

    Raised when: the id was never given out, the job was another caller's, or it ended so long ago that it is forgotten
    (`FAILSOFT_JOB_KEEP_S`). The three cannot be told apart.
    Caller: list your jobs, and use an id as it was answered.
    """

    code = "JOB_NOT_FOUND"
    message = "You have no job with this id."
    hints = ("Use a job_id as the call that began the job answered it",)
