"""Errors of building a model: invalid input and missing data (seed 002)."""

from __future__ import annotations

from failsoft.framework.errors import InvalidArgument, Public, Unavailable, UpstreamError, Words

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
"""The standard alphabet of proteins. Small letters, `U` and a `*` at the end are accepted besides."""


class EmptyProteinSequences(InvalidArgument):
    """No protein sequences are given.

    Raised when: `protein_sequences` has no entry.
    Caller: give at least one protein, as id and sequence; for a ready-made model use `load_model`.
    """

    code = "EMPTY_PROTEIN_SEQUENCES"
    message = "No protein sequences are given."
    hints = (
        "Give at least one protein: its id and its sequence",
        "Use load_model if a ready-made model will do",
    )


class InvalidProteinSequences(InvalidArgument):
    """Sequences, or their ids, are invalid.

    Raised when: a sequence is empty or has a character that is not an amino acid (`X`, a digit, a stop `*` before the
    end), or an id is empty, too long or has a space in it. Positions count from 1.
    Caller: correct or leave out the sequences that `invalid_sequences` lists, then call again.
    """

    invalid_sequences: Public[dict[str, str] | None] = None
    valid_sequences: Public[tuple[str, ...] | None] = None
    total_sequences: Public[int]
    total_invalid: Public[int]
    allowed_characters: Public[str] = AMINO_ACIDS
    code = "INVALID_PROTEIN_SEQUENCES"
    message = "{total_invalid} of {total_sequences} protein sequences cannot be used."
    hints = (
        "Use the standard amino acid alphabet: {allowed_characters}",
        "Remove sequences with ambiguous residues (X, B, Z)",
        "Verify that the sequences are proteins, not DNA or RNA",
        "Check for empty sequences",
    )


class InvalidTemplateName(InvalidArgument):
    """There is no template of that name.

    Raised when: `template` is not the name of a known template, loaded or not.
    Caller: use one of `allowed_templates`.
    """

    requested_template: Public[str]
    allowed_templates: Public[tuple[str, ...]] = ()
    closest: Public[str | None] = None
    code = "INVALID_TEMPLATE_NAME"
    message = 'No template "{requested_template}".'
    hints = ("Did you mean {closest}?", "Use one of these templates: {allowed_templates}")


class ModelSeedPyError(UpstreamError):
    """ModelSEEDpy raised an exception while it built a model.

    Raised when: its builder is chosen, and it cannot be imported, has no template, or fails over the genome.
    Caller: try another template; if that fails too, report the error id to the user.
    Operator: the log has the exception. ModelSEEDpy ships no templates: set FAILSOFT_FLUX_MODELSEEDPY_TEMPLATES, or
    choose another builder with FAILSOFT_FLUX_BUILDER.
    """

    library: Public[str] = "ModelSEEDpy"
    operation: Public[Words]
    exception_type: Public[Words]
    exception_message: Public[str] = ""
    template_requested: Public[str | None] = None
    code = "MODELSEEDPY_ERROR"
    message = "ModelSEEDpy failed at {operation} ({exception_type})."
    hints = (
        "Verify that the template suits the organism, and try another one: GramNegative, GramPositive, Core",
        "If every template fails, the person who runs this server has to look at its log",
    )
    retry = "after_fix"
    actor = "operator"


class RastUnavailable(Unavailable):
    """Annotation by RAST was requested, and the service does not answer.

    Raised when: no endpoint is configured, or a real request to it fails, times out or is answered with an error.
    Caller: call again with `annotate_with_rast` false; with known functions, give them as `functions`.
    Operator: set FAILSOFT_FLUX_RAST_URL, or look whether the service behind it runs.
    """

    reason: Public[Words]
    code = "RAST_UNAVAILABLE"
    message = "RAST annotation is not available: {reason}."
    hints = (
        "Call build_model again with annotate_with_rast false",
        "If you know the functions of the proteins, give them as functions",
    )
    retry = "after_fix"
    actor = "caller"
