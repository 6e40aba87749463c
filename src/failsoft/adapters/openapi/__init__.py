"""Tools from an OpenAPI document: `OpenAPITools` without code, `HttpApi` for generated toolsets."""

from failsoft.adapters.openapi.http_api import Credential, HttpApi, indexed, joined, json_text
from failsoft.adapters.openapi.toolset import OpenAPITools

__all__ = ["Credential", "HttpApi", "OpenAPITools", "indexed", "joined", "json_text"]
