"""Questions in plain English over three documentation trees: is the right page among the first five?

`python bench/docs_questions.py FOLDER [MODE ...]`, where FOLDER holds the unpacked npm packages `ai@6.0.326`,
`next@16.4.6` and `npm@11.21.2` as `ai`, `next` and `npm`. A question has one or more right pages, by the end of their
paths; it mostly avoids the words of their titles.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from failsoft.tools.docs import Docs

ROOTS = {"ai": "package/docs", "next": "package/dist/docs", "npm": "package/docs"}
QUESTIONS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "npm": [
        ("How do I find out which packages have newer versions?", ("npm-outdated.md",)),
        ("Install exactly what the lock file says on a build server", ("npm-ci.md", "npm-install-ci-test.md")),
        ("remove a version that I released by mistake", ("npm-unpublish.md", "npm-deprecate.md")),
        ("check my dependencies for security holes", ("npm-audit.md",)),
        ("run a command from a package without installing it", ("npm-exec.md", "npx.md")),
        (
            "Which file is written so that everybody gets the same tree?",
            ("package-lock-json.md", "npm-shrinkwrap-json.md"),
        ),
        ("where does npm put global executables", ("folders.md", "npm-prefix.md", "npm-root.md")),
        ("use a local checkout of a library in my project", ("npm-link.md",)),
        ("why is this package installed, who depends on it", ("npm-explain.md", "npm-ls.md")),
        ("give another person the right to publish my package", ("npm-owner.md", "npm-access.md")),
        ("manage several packages in one repository", ("workspaces.md",)),
        ("bump the version and make a git tag", ("npm-version.md",)),
        ("list all licenses and components as a bill of materials", ("npm-sbom.md",)),
        ("what runs before and after publish", ("scripts.md",)),
        ("clean duplicated packages out of the tree", ("npm-dedupe.md", "npm-find-dupes.md")),
        ("make a tarball of my package to look at", ("npm-pack.md",)),
        ("mark a release as beta so that install does not pick it", ("npm-dist-tag.md",)),
        ("tell users that a version is no longer maintained", ("npm-deprecate.md",)),
        ("which account am I using", ("npm-whoami.md",)),
        ("select packages in the tree like CSS", ("dependency-selectors.md", "npm-query.md")),
    ],
    "next": [
        ("How can I serve my app in several languages?", ("internationalization.md",)),
        ("keep secrets from reaching the browser", ("data-security.md", "environment-variables.md")),
        ("send people from an old address to a new one", ("redirecting.md", "redirects.md", "redirect.md")),
        ("how do I run end to end tests in a browser", ("playwright.md", "cypress.md", "testing/index.md")),
        ("make my site installable on a phone", ("progressive-web-apps.md",)),
        ("limit which scripts the browser may execute", ("content-security-policy.md",)),
        ("my dev server uses too much RAM", ("memory-usage.md", "local-development.md")),
        ("export the site as plain HTML without a server", ("static-exports.md",)),
        ("read a cookie in a server component", ("cookies.md",)),
        ("run code after the response has been sent", ("after.md",)),
        ("preview unpublished content from a CMS", ("draft-mode.md",)),
        ("tell search engines which pages not to crawl", ("robots.md",)),
        ("set the title and description of a page", ("generate-metadata.md", "metadata-and-og-images.md")),
        ("load a component only when it is needed", ("lazy-loading.md",)),
        ("send traces to an observability backend", ("open-telemetry.md", "instrumentation.md")),
        ("move a project from create react app", ("from-create-react-app.md",)),
        ("host it on my own machine with docker", ("self-hosting.md", "deploying.md", "deploying-to-platforms.md")),
        ("show a spinner while the page is loading", ("loading.md", "streaming.md")),
        ("handle login and sessions", ("authentication.md", "authentication-with-cache-components.md")),
        ("write pages in markdown", ("mdx.md",)),
    ],
    "ai": [
        ("my stream is cut off after some seconds on Vercel", ("timeout-on-vercel.mdx",)),
        ("keep the messages of a chat in a database", ("chatbot-message-persistence.mdx",)),
        ("continue a stream after the user reloads the page", ("chatbot-resume-streams.mdx",)),
        ("limit how many requests a user may send", ("rate-limiting.mdx",)),
        ("store answers so that the same question is not asked twice", ("caching.mdx",)),
        ("make the model answer with typed JSON", ("object-generation.mdx", "generating-structured-data.mdx")),
        ("the assistant's message appears twice", ("repeated-assistant-messages.mdx",)),
        ("let the user stop an answer that is being generated", ("stopping-streams.mdx",)),
        ("Azure streams slowly", ("azure-stream-slow.mdx",)),
        ("call functions from a chat", ("chatbot-tool-usage.mdx", "tools-and-tool-calling.mdx")),
        ("jest does not find a module", ("jest-cannot-find-module-ai-rsc.mdx",)),
        ("memory grows when I send pictures", ("high-memory-usage-with-images.mdx",)),
        ("attach the token count to each message", ("message-metadata.mdx",)),
        ("choose between models depending on the question", ("model-as-router.mdx",)),
        ("how to write good prompts", ("prompt-engineering.mdx", "prompts.mdx")),
        ("turn text into vectors", ("embeddings.mdx", "embed.mdx", "embed-many.mdx")),
        ("convert an audio file to text", ("transcription.mdx", "transcribe.mdx")),
        ("create pictures from a description", ("image-generation.mdx", "generate-image.mdx")),
        ("record usage and latency of calls", ("telemetry.mdx",)),
        ("TypeScript gets slow with zod schemas", ("typescript-performance-zod.mdx",)),
    ],
}

HELD_OUT: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "npm": [
        ("open the source code page of a package in the browser", ("npm-repo.md",)),
        ("open the homepage of a package from the terminal", ("npm-docs.md",)),
        ("order in which lock files are respected", ("npm-install.md",)),
        ("create and revoke credentials for automation", ("npm-token.md",)),
        ("move shared packages higher up so that they are stored once", ("npm-dedupe.md",)),
        ("change a setting from the command line instead of editing the file", ("npm-config.md", "npmrc.md")),
        ("sign in to a private registry", ("npm-login.md", "npm-adduser.md")),
        ("see who may push new versions of this package", ("npm-owner.md", "npm-access.md")),
        ("require a human to approve what the pipeline publishes", ("npm-stage.md",)),
        ("change my password or turn on two-factor login", ("npm-profile.md",)),
        ("end my session so that the key no longer works anywhere", ("npm-logout.md",)),
        ("take a library out of my project again", ("npm-uninstall.md",)),
        ("fresh install and then run the tests in one go", ("npm-install-ci-test.md", "npm-install-test.md")),
        ("add a new developer to our team on the registry", ("npm-org.md", "npm-team.md")),
        ("find all dependencies with a given attribute as JSON", ("npm-query.md",)),
        ("what does the @ in front of a package name mean", ("scope.md",)),
        ("start a new project by answering some questions", ("npm-init.md",)),
        ("is the registry reachable from here", ("npm-ping.md",)),
        ("the permissions of my cache are broken", ("npm-doctor.md", "npm-cache.md")),
        ("say thank you to authors with money", ("npm-fund.md",)),
    ],
    "next": [
        (
            "stop the framework from adding or removing the slash at the end of addresses",
            ("skipTrailingSlashRedirect.md",),
        ),
        ("share cached server data with browser mutations through a query client", ("tanstack-query.md",)),
        ("fetch data for a page while building", ("get-static-props.md", "getStaticProps.md")),
        ("my bundles are too big, what can I do", ("package-bundling.md",)),
        ("run a route close to certain users geographically", ("preferredRegion.md",)),
        ("how can I improve these docs myself", ("contribution-guide.md", "04-community/index.md")),
        ("keep component state when I save a file", ("fast-refresh.md",)),
        ("put the styles into the HTML head instead of linking them", ("inlineCss.md",)),
        (
            "fetch requests are not cached any more, how do I turn it on",
            ("caching-without-cache-components.md", "fetch.md"),
        ),
        (
            "make sure that a navigation shows something at once",
            ("instant.md", "instant-navigation.md", "instant-navigations.md"),
        ),
        ("build a public HTTP API without pages", ("backend-for-frontend.md", "route.md", "api-routes.md")),
        ("what should I check before going live", ("production-checklist.md",)),
        ("list the parameters of dynamic routes at build time", ("generate-static-params.md",)),
        ("which hosts may call my server functions, protect them against CSRF", ("serverActions.md",)),
        ("use scss variables", ("sass.md", "sassOptions.md")),
        ("the page is empty until the JavaScript has run", ("client-side-rendering.md",)),
        ("read the query string in a component", ("use-search-params.md",)),
        ("the image component of older versions", ("image-legacy.md",)),
        (
            "answer a request differently by the visitor's cookies before the page is rendered",
            ("proxy.md", "middleware.md"),
        ),
        ("show my own page for addresses that do not exist", ("not-found.md", "custom-error.md")),
    ],
    "ai": [
        ("draft an e-mail with a single call, without streaming", ("generate-text.mdx", "generating-text.mdx")),
        ("intercept calls to the model to add guardrails", ("middleware.mdx",)),
        ("turn a zod object into JSON schema", ("zod-schema.mdx",)),
        ("type error when I pass the tool name to addToolOutput", ("ontoolcall-type-narrowing.mdx",)),
        ("build a command line chat program", ("06-nodejs.mdx",)),
        ("what is an agent made of", ("03-agents/01-overview.mdx", "building-agents.mdx")),
        ("let one agent hand work to another with its own context", ("subagents.mdx",)),
        ("old chats in my database no longer fit the new message format", ("migration-guide-5-0-data.mdx",)),
        ("chat interface with Express as the backend", ("angular.mdx", "express.mdx")),
        ("send status information next to the answer of the model", ("streaming-data.mdx",)),
        ("change the model or the prompt of an agent for each request", ("configuring-call-options.mdx",)),
        ("name models by simple strings from one central place", ("provider-registry.mdx", "provider-management.mdx")),
        (
            "render components on the server and stream them to the browser",
            ("05-ai-sdk-rsc/01-overview.mdx", "streaming-react-components.mdx"),
        ),
        ("remember what the user said last week", ("memory.mdx",)),
        ("measure how similar two vectors are", ("cosine-similarity.mdx", "embeddings.mdx")),
        ("sort search results by relevance with a model", ("rerank.mdx", "reranking.mdx")),
        ("read text aloud in a natural voice", ("speech.mdx", "generate-speech.mdx")),
        ("test my code without calling a real model", ("testing.mdx",)),
        (
            "ask the user before a tool is executed",
            ("human-in-the-loop.mdx", "chatbot-tool-usage.mdx", "tool-approval.mdx"),
        ),
        ("use tools from a Model Context Protocol server", ("mcp-tools.mdx", "create-mcp-client.mdx", "mcp.mdx")),
    ],
}
"""Written before any change of the ranking; nothing is tuned on them."""


async def main(folder: Path, modes: list[str]) -> None:
    """Print the share of each mode, and what it misses."""
    for label, questions in (("first", QUESTIONS), ("held out", HELD_OUT)):
        for mode in modes:
            print(f"{label}, {mode}: {await share(folder, questions, mode)}")


async def embed_all(docs: Docs, mode: str) -> None:
    """Search until no warning says that documents are still to be embedded."""
    is_complete = mode == "lexical"
    while not is_complete:
        response = await docs.search_documents(query="a page", mode=mode)
        is_complete = not any("embedded" in warning for warning in response.metadata.warnings)


async def share(folder: Path, questions: dict[str, list[tuple[str, tuple[str, ...]]]], mode: str) -> str:
    """Return how many questions find one of their pages in the first five."""
    hits = total = 0
    for name, inner in ROOTS.items():
        with tempfile.TemporaryDirectory() as cache:
            docs = Docs(folder / name / inner, cache_dir=Path(cache))
            await embed_all(docs, mode)
            for question, pages in questions[name]:
                response = await docs.search_documents(query=question, mode=mode, limit=5)
                found = [hit["path"] for hit in response.data["results"]] if response.data else []
                is_hit = any(path.endswith(pages) for path in found)
                hits, total = hits + is_hit, total + 1
                if not is_hit:
                    print(f"  {mode} misses: {question} -> {found[:3]}")
            docs.projects.close()
    return f"{hits} of {total} in the first five ({hits / total:.0%})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the packages of npm are unpacked")
    parser.add_argument("modes", nargs="*", default=["lexical", "hybrid"])
    parser.add_argument("--quick", action="store_true", help="lexical search only")
    given = parser.parse_args()
    asyncio.run(main(given.folder, ["lexical"] if given.quick else given.modes))
