import os

from jwt_verifier import JwtVerifier
from library import Library
from mcp.server.auth.settings import AuthSettings

from failsoft import configure_logging, serve

ISSUER = os.environ["ISSUER"]  # https://login.example.org, as its metadata write it
RESOURCE = os.environ["RESOURCE"]  # https://tools.example.org/mcp, as clients write it

configure_logging()  # otherwise a program of yours logs nothing of failsoft
serve(
    Library,
    transport="http",
    port=int(os.environ.get("PORT", "8321")),
    on_ready=print,
    token_verifier=JwtVerifier(
        issuer=ISSUER, audience=RESOURCE, jwks_uri=f"{ISSUER}/jwks"
    ),
    auth=AuthSettings.model_validate(
        {
            "issuer_url": ISSUER,
            "resource_server_url": RESOURCE,
            "required_scopes": ["tools"],
            "validate_token_resource": True,
        }
    ),
)
