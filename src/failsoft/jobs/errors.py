"""The errors of jobs."""

from __future__ import annotations

from failsoft.framework.errors import InternalError, NotFound, Public


class JobNotFound(NotFound):
    """There is no job with this id that the caller may see.

    Raised when: the id was never given out, the job was another caller's, or it ended so long ago that it is forgotten
    (`FAILSOFT_JOB_KEEP_S`). The three cannot be told apart.
    Caller: list your jobs, and use an id as it was answered.
    """

    code = "JOB_NOT_FOUND"
    message = "You have no job with this id."
    hints = ("Use a job_id as the call that began the job answered it",)


class JobProcessLost(InternalError):
    """Every process that ran the job has ended before the job did.

    Raised when: the handler of a job, or what it uses, ends its process each time: it exits, crashes, or takes more
    memory than the system gives.
    Caller: do not begin the job again; report the error id to the user.
    Operator: look in the log and the system's own for how the processes ended (`oom`, signals).
    """

    deaths: Public[int]
    code = "JOB_PROCESS_LOST"
    message = "Each of the {deaths} processes that ran this job has ended before the job did."
