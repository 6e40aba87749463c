"""Names of authenticated callers, prefixed with their kind, so that a token holder cannot pass for another kind.

A principal is one text: `local` for the client on standard streams, `token:HOLDER` for the holder of a bearer token,
`oauth:ISSUER SUBJECT` for the subject of an OAuth issuer. The parts are percent-encoded, so that no two callers share a
text, and comparing texts compares kind and all parts.
"""

from __future__ import annotations

from urllib.parse import quote

from failsoft.framework.safe.secrets import redact_text

LOCAL_PRINCIPAL = "local"
"""The only client of a server on standard streams."""
_TOKEN = "token:"  # noqa: S105 - a kind, not a secret
_OAUTH = "oauth:"
_KEPT = "/:@!$&'()*+,;=-._~"
"""Characters that `quote` does not encode: neither white space nor the percent sign."""


def token_principal(holder: str, subject: str | None = None) -> str:
    """Return the principal that holds a bearer token.

    Args:
        holder: The name that the settings, or a verifier, give the holder.
        subject: The user that the holder acts for, if the verifier gives one.
    """
    return _TOKEN + _joined(holder, subject)


def oauth_principal(issuer: str, subject: str) -> str:
    """Return the subject of an issuer; a subject is unique only with its issuer."""
    return _OAUTH + _joined(issuer, subject)


def principal_named(text: str) -> str:
    """Parse a principal in a setting.

    Args:
        text: `HOLDER` of a named token, `ISSUER SUBJECT`, or a principal as shown in logs.
    """
    if text == LOCAL_PRINCIPAL or not text:
        return _TOKEN + text  # the client on standard streams is never named in a setting
    if text.startswith((_TOKEN, _OAUTH)):
        return text
    issuer, separator, subject = text.partition(" ")
    return oauth_principal(issuer, subject) if separator and subject else token_principal(text)


def redact_principal(principal: str) -> str:
    """Return a principal for a log: the kind, and the rest without secrets; `token:ada` as a whole looks like one."""
    kind, separator, rest = principal.partition(":")
    return f"{kind}:{redact_text(rest)}" if separator else redact_text(principal)


def _joined(*parts: str | None) -> str:
    return " ".join(quote(part, safe=_KEPT, errors="surrogatepass") for part in parts if part is not None)
