"""The inner names that tests use, by module: when code moves inside `src`, only this file changes.

Each loads on first use, so that a test imports no more than it names. `inner as door` gives a name that modules share
a door of its own; a submodule is a door like any other name. Public names are imported from where users import them.
"""

from __future__ import annotations

import importlib
from typing import Any

HOMES = {
    "failsoft.adapters.foreign": "ForeignScope, ForeignTool, ForeignTools",
    "failsoft.adapters.openapi.document": "read_document",
    "failsoft.adapters.openapi.records": "identifier",
    "failsoft.adapters.openapi.reader": "read_api",
    "failsoft.cli": "asking as asking_module, main as command, screen as screen_module",
    "failsoft.cli.app": "application, known_commands, run",
    "failsoft.cli.asking": "person_at_terminal",
    "failsoft.cli.arguments": "from_json, from_words",
    "failsoft.cli.commands": "codes as codes_module, install as install_module",
    "failsoft.cli.commands.demo": "DemoStep, STORY, _judge as judge, _miscounted as miscounted, _play as play",
    "failsoft.cli.commands.operate.top": "_head as head_of_top",
    "failsoft.cli.commands.probe": "_behind_proxy as behind_proxy",
    "failsoft.cli.commands.serve": "_headers as headers_of_proxy",
    "failsoft.cli.commands.operate.plans": "_complete_plans as complete_plans",
    "failsoft.cli.errors": "ExitCode, exit_code_of",
    "failsoft.cli.openapi.layout": "Group, Text, docstring, flat, laid_out, literal",
    "failsoft.cli.openapi.project": "files_of",
    "failsoft.cli.reload": "fixed_port",
    "failsoft.cli.remote": "ask as ask_server",
    "failsoft.cli.security": "findings",
    "failsoft.cli.target": "find_project",
    "failsoft.client.answers": "error_in, failure_in, from_json as from_stored, read_answer, to_json",
    "failsoft.client.faults": "fault_from, from_raised",
    "failsoft.client.known_texts": "class_of",
    "failsoft.client.messages": "message_of",
    "failsoft.client.reports": "quoted as foreign_quotation",
    "failsoft.client.stdio": "stdio_streams",
    "failsoft.framework": "errors as errors_module, normalize as normalize_module",
    "failsoft.framework.answer.failure": "CONTEXT_KEY, RetryAdvice",
    "failsoft.framework.answer.formats": "FORMATS, REQUIRED, find_format",
    "failsoft.framework.answer.lean": "lean_text",
    "failsoft.framework.answer.response": "Metadata, RecoveryReceipt",
    "failsoft.framework.answer.result": "Result, is_block, reported_failure, split_content",
    "failsoft.framework.arguments": "Arguments",
    "failsoft.framework.arguments.accepted": "Accepted, source_of",
    "failsoft.framework.arguments.corrected": "corrected, in_another_form",
    "failsoft.framework.arguments.faults": "VIOLATIONS_AT_MOST",
    "failsoft.framework.arguments.json_schema": "JsonSchema, JsonSchemaArguments",
    "failsoft.framework.arguments.marks": "Parameter",
    "failsoft.framework.arguments.metaschema": "is_plainly_valid",
    "failsoft.framework.arguments.pydantic_faults": "reason_of, violations_from_pydantic",
    "failsoft.framework.arguments.signature": "SignatureArguments",
    "failsoft.framework.asking": "Answer, AwaitingAnswer, Question",
    "failsoft.framework.audit": "log_file as log_file_module, reading as reading_module, trail as trail_module",
    "failsoft.framework.audit.chain": "BEGINNING, BadLine, Head, Seal, canonical, follow",
    "failsoft.framework.audit.log_file": "LogFile",
    "failsoft.framework.audit.places": (
        "HeadFile, NotWritten, default_head, default_key_file, key_from, made_key, read_key"
    ),
    "failsoft.framework.audit.reading": "entries as audit_entries, find, newest, segments",
    "failsoft.framework.audit.verify": "verify",
    "failsoft.framework.call.bound": "BoundOperation, Toolbox",
    "failsoft.framework.call": "CallScope, META_KEY, NO_SCOPE",
    "failsoft.framework.call.chain": "Link, PLACES, RecoveryEngine, assemble, connect",
    "failsoft.framework.call.explain": "explain",
    "failsoft.framework.call.operation": "Operation",
    "failsoft.framework.call.rerun": "Facts, RunFacts, could_do_twice, effect_of_run, retry_of, why_not_rerun, worst",
    "failsoft.framework.call.runtime": "default_runtime",
    "failsoft.framework.call.time_limits": "BUDGET_KEY, current_budget",
    "failsoft.framework.clock": "OnceAMinute, new_id, utc_timestamp",
    "failsoft.framework.captures.folder": "CaptureFolder, captures_folder",
    "failsoft.framework.captures.stored": "read_capture",
    "failsoft.framework.captures.keeper": "finish_captures",
    "failsoft.framework.errors": "catalogue as catalogue_module, categories as categories_module",
    "failsoft.framework.errors.catalogue": (
        "closest, entries, index_of, lookup as lookup_code, pages, render_page, sections, summary"
    ),
    "failsoft.framework.errors.corrections": "correction, how_far, near_names",
    "failsoft.framework.errors.tool_error": "registry",
    "failsoft.framework.errors.unknown_tools": "Offered, unknown_tool",
    "failsoft.framework.errors.violations": "Reason, advice, clause, collapsed, summarize",
    "failsoft.framework.errors.vocabulary": "RaisedWrongly, StopReason",
    "failsoft.framework.files": "folded, protected_files",
    "failsoft.framework.logs.alerts": "AlertDispatcher, AlertSink, LogSink, WebhookSink",
    "failsoft.framework.logs.defects": "RepeatedDefects",
    "failsoft.framework.logs.log_writer": "LogWriter, may_wait",
    "failsoft.framework.logs.logs": "log_events, log_recovery, log_store",
    "failsoft.framework.normalize": (
        "TABLES, THIRD_PARTIES, is_refused, normalize, system_errors as system_errors_module"
    ),
    "failsoft.framework.normalize.http_status": "REFUSALS, STATUSES, from_status, parse_wait, reset_wait, retry_after",
    "failsoft.framework.offers": "UriTemplate",
    "failsoft.framework.plugins": "installed_points",
    "failsoft.framework.recent": "Recent",
    "failsoft.framework.recorders": "Gauges, NullMetrics, OperationMetrics, Recorder",
    "failsoft.framework.safe": "author_reports as reports_module, json_safe as json_safe_module",
    "failsoft.framework.safe.author_reports": "is_real_cancellation, report_mistake",
    "failsoft.framework.safe.json_safe": "dumps, encode, json_safe",
    "failsoft.framework.safe.rebuilt": "Rebuild",
    "failsoft.framework.safe.principals": "LOCAL_PRINCIPAL, oauth_principal, token_principal",
    "failsoft.framework.safe.redaction": "PATH, WITHHELD, redact, redact_paths, withhold_contents",
    "failsoft.framework.safe.secret_names": "is_secret_name",
    "failsoft.framework.safe.secrets": "redact_text",
    "failsoft.framework.safe.tokens": "REDACTED, TOKEN, TOKEN_START",
    "failsoft.framework.safe.tracebacks": "author_line, stack_of",
    "failsoft.framework.state.backend": (
        "KEPT, NOTHING, UNREADABLE, Account, Backend, Changed, Held, "
        "State, Step, StoreLost, UnreadableValue, Write, WriteRefused"
    ),
    "failsoft.framework.state.memory": "MemoryBackend",
    "failsoft.framework.state.records": "Records, scope_of",
    "failsoft.framework.state.steps": "Steps, forgotten",
    "failsoft.framework.state.store": "LocalState, StateStore",
    "failsoft.framework.text": "QUOTED_AT_MOST, bounded, file_name, json_type, named, plain, quoted",
    "failsoft.framework.threads": "ThreadPool, is_given_up",
    "failsoft.metrics.board": "Board, Boards, in_use, use as use_board",
    "failsoft.metrics.dashboards": "dashboards",
    "failsoft.metrics.definitions": (
        "ATTEMPTS, CALLS, CIRCUIT_TRANSITIONS, DEFINITIONS, DURATION, JOBS, OTHER, PRINCIPAL_CALLS, REFUSED, "
        "REPEATED_FAILURES"
    ),
    "failsoft.metrics.rules": "ALERTS, alertmanager_file, rule_file",
    "failsoft.metrics.status": "StatusNumbers",
    "failsoft.metrics.values": "Row, added",
    "failsoft.proxy": "upstream as upstream_module",
    "failsoft.proxy.clients": "Front",
    "failsoft.proxy.listing": "ListReader, Overrides, read_overrides",
    "failsoft.proxy.questions": "Questions, question_from",
    "failsoft.proxy.serve": "ProxySource, assemble_proxy",
    "failsoft.probe.calls": "Bounds as ProbeBounds, Calls as ProbeCalls",
    "failsoft.probe.connection": "ServerAnswer, Connection as ProbeConnection",
    "failsoft.probe.faults": "FaultyCall",
    "failsoft.probe.probing": "Probe",
    "failsoft.probe.rating": "Known, rate",
    "failsoft.probe.reader": "Reader",
    "failsoft.probe.report": "ProbeReport",
    "failsoft.probe.schemas": "ToolInfo, tools_in",
    "failsoft.proxy.targets": "UpstreamTarget, check_programs, from_command, from_file, from_url",
    "failsoft.recovery.idempotency.keys": "KeyedHashes, ids_of_key, is_record_of, key_id",
    "failsoft.recovery.idempotency.ledger": (
        "SETTLED, Claimant, Claimed, KeyRecord, OwnerReport, Phase, Verdict, claim, is_dead, is_readable, new_owner, "
        "report as report_to_ledger"
    ),
    "failsoft.recovery.idempotency.outcomes": "read_outcome",
    "failsoft.recovery.recovery_file": "STRATEGIES, read_configuration, read_table as read_toml_table",
    "failsoft.recovery.state.redis": "RedisBackend",
    "failsoft.recovery.state.sqlite": "SqliteBackend",
    "failsoft.recovery.state.store": "SharedStore, open_state",
    "failsoft.recovery.state.watched": "WatchedBackend",
    "failsoft.recovery.strategies.alternate_paths": "spelled_alternates",
    "failsoft.recovery.strategies.circuit_breaker": "Circuit, CircuitAdmission, UNCOUNTED",
    "failsoft.recovery.strategies.circuit_steps": "_lower_bound as rate_at_least, admit, force, peek, report",
    "failsoft.recovery.strategies.rate_limit": "PARTS, take",
    "failsoft.recovery.strategies.retry_budget": "Ledger, REFILL_S, withdraw",
    "failsoft.replay": "run_again",
    "failsoft.rules": "RULES, Silences, by_name",
    "failsoft.rules.lint": "lint_descriptions, lint_failure, lint_toolbox",
    "failsoft.server": "draining as draining_module, stdio as stdio_serve_module",
    "failsoft.server.assembly": "assemble as assemble_server",
    "failsoft.server.garbage": "collect_rarely, freeze_loaded",
    "failsoft.server.http": "exchange as exchange_module, seam as seam_module",
    "failsoft.server.http.access": "check_exposure, is_loopback, transport_security",
    "failsoft.server.http.app": "build_app",
    "failsoft.server.http.admission": "Passed",
    "failsoft.server.http.exchange": "event, received, watched",
    "failsoft.server.http.connections": "ConnectionLimits, Connections, LimitedProtocol",
    "failsoft.server.http.lane": "Lane",
    "failsoft.server.http.process.heartbeat": "Heartbeat",
    "failsoft.server.http.process.process": "bound_socket, config_for, serving_beside",
    "failsoft.server.http.process.restarts": "Restarts, Silence, STABLE_S",
    "failsoft.server.http.process.workers": "Supervisor, board_folder, keep_folder",
    "failsoft.server.lifecycle": "Lifecycle",
    "failsoft.server.page": "feed as feed_module",
    "failsoft.server.page.findings.evidence": "Evidence",
    "failsoft.server.page.findings.headline": "headline as headline_of",
    "failsoft.server.page.findings.pace": "Pace, Slow",
    "failsoft.server.page.story": "StepLog",
    "failsoft.server.protocol.direct": "DirectAnswers",
    "failsoft.server.risks": "open_risks",
    "failsoft.server.sources": ("ToolSource, as_tools, find_toolsets, load_app, load_toolset, unknown_variables"),
    "failsoft.server.stdio_streams": "EDGE_BYTES, refusal",
    "failsoft.server.telemetry": "start_with",
    "failsoft.tools": "flux as flux_module, workspace as workspace_module",
    "failsoft.tools.docs.documents.document": "load_document, parse_document",
    "failsoft.tools.docs.documents.front_matter": "ALIASES_AT_MOST, NESTING_AT_MOST, NODES_AT_MOST, read_front_matter",
    "failsoft.tools.docs.documents.library": "walk",
    "failsoft.tools.docs.documents.markdown": "anchors, headings, section, targets",
    "failsoft.tools.docs.documents.paths": "address, is_visible, names_of as document_names_of",
    "failsoft.tools.docs.promotion": "with_level",
    "failsoft.tools.docs.documents.root": "DocumentRoot",
    "failsoft.tools.docs.documents.site": "SitePages",
    "failsoft.tools.docs.missing": "advise, alternate_paths, search_step",
    "failsoft.tools.docs.config": "config_schema, DocTypeConfig",
    "failsoft.tools.docs.doc_types": "DocTypes, glob_pattern",
    "failsoft.tools.docs.search": (
        "embedders as embedders_module, index as index_module, meaning as meaning_module, postgres_store, "
        "refresh as refresh_module, tables as lookup_document"
    ),
    "failsoft.tools.docs.search.database": "PostgresDatabase",
    "failsoft.tools.docs.search.embedders": "minilm, opening, request_url",
    "failsoft.tools.docs.search.meaning": "fused",
    "failsoft.tools.docs.search.sqlite_store": "REBUILT, TEMPORARY",
    "failsoft.tools.docs.search.tables": "IndexConnection, Scope, ScoredRow, all_paths",
    "failsoft.tools.docs.search.index": "BEHIND, DocumentIndex, STALE_S_AT_MOST, UNFINISHED",
    "failsoft.tools.docs.search.query": "ACCEPTED, in_words, parse_query, plain_words, tsquery",
    "failsoft.tools.docs.search.ranking": "search as search_pages",
    "failsoft.tools.docs.search.words": "places_of, snippet",
    "failsoft.tools.docs.signatures": "DocsSettings",
    "failsoft.tools.edit.diff": "changed_ranges, unified_diff",
    "failsoft.tools.edit.engine": "Edited, FailedEdit, TextEdit, TextTooLong, apply_edits, as_crlf, is_crlf",
    "failsoft.tools.edit.failures": "CONTEXT_BYTES_AT_MOST, ambiguous_context, missing_context, window",
    "failsoft.tools.edit.signatures": "EditSettings",
    "failsoft.tools.files": (
        "FaultTable, FileFault, Files, Recovered, Roots, Transaction, Written, exchange as file_exchange_module, "
        "kind_of, similar_files"
    ),
    "failsoft.tools.files.journal": "JournalEntry, JournalRecord, Journals",
    "failsoft.tools.files.locks": "GiveUp, Locks, _stripe_of, never",
    "failsoft.tools.files.resolving": "PATH_BYTES_AT_MOST, names_of",
    "failsoft.tools.files.staging": "StagedFile",
    "failsoft.tools.flux": "work as work_module",
    "failsoft.tools.flux.building": "rast as rast_module",
    "failsoft.tools.flux.building.proteins": "read_fasta",
    "failsoft.tools.flux.conditions": "Conditions, Medium",
    "failsoft.tools.flux.database": "shipped as shipped_module, tables as tables_module",
    "failsoft.tools.flux.database.database": "Database, DatabaseNotLoaded",
    "failsoft.tools.flux.database.entries": "AnyKind, COMPOUNDS, REACTIONS, elements",
    "failsoft.tools.flux.database.reference_data": "ReferenceData, UNIVERSES",
    "failsoft.tools.flux.database.search": "find as find_entries",
    "failsoft.tools.flux.database.shipped": "SHIPPED_MODELS",
    "failsoft.tools.flux.database.tables": "TablesError, find_tables",
    "failsoft.tools.flux.media.media": "missing_sources",
    "failsoft.tools.flux.media.checks": "bounds_of",
    "failsoft.tools.flux.signatures": "FluxSettings",
    "failsoft.tools.flux.store": "ModelStore, Recipe",
    "failsoft.tools.flux.work": "analyses as fba_module, comparisons as comparisons_module",
    "failsoft.tools.flux.work.exchanges": "bounds_under, exchanges_of, use_database",
    "failsoft.tools.flux.work.building.gapfill": "Filling, fill",
    "failsoft.tools.flux.work.building.drafts": "any_of, gene_ids, search as diamond_search",
    "failsoft.tools.flux.work.making": "model_of, packed",
    "failsoft.tools.flux.work.network": (
        "GapfillProblem, Network, NetworkMetabolite, NetworkReaction, candidates, network_of, sbml_universe, "
        "shipped_universe, template_universe"
    ),
    "failsoft.tools.flux.work.shortage": "Shortage, shortage_of",
    "failsoft.tools.flux.work.solver": "Column, LinearProblem, solve",
    "failsoft.jobs": "local as local_engine_module",
    "failsoft.jobs.answers": "structured as structured_of_job",
    "failsoft.jobs.processes": "fork_server as fork_server_module",
    "failsoft.jobs.record": "Job, JobState, new_job_id",
    "failsoft.jobs.toolset": "jobs_of",
    "failsoft.tools.flux.workers.pool": "Workers",
    "failsoft.jobs.processes.worker": "begin, call_deadline, progress",
    "failsoft.tools.workspace.invariants": "INVARIANTS",
    "failsoft.tools.workspace.gate": "is_same_root",
    "failsoft.tools.workspace.patch": "lines_of, read_patch",
    "failsoft.tools.workspace.plans.register": "PLANS_AT_MOST, PLANS_PER_AUTHOR, quota",
    "failsoft.tools.workspace.signatures": "WorkspaceSettings",
    "failsoft.tools.workspace.plans.scope": "FILES_AT_MOST, covers, faults_of, normal",
    "failsoft.tools.workspace.policies": "judge as judge_write, generic as generic_module, load_policies, rules_of",
    "failsoft.tools.workspace.policies.languages": "LANGUAGES",
    "failsoft.tools.workspace.preflight": "reduced",
    "failsoft.tools.workspace.reports": "read_entries, report_name",
    "failsoft.tools.workspace.session_files": "SessionFiles",
    "failsoft.tools.workspace.sessions": "Session",
}
"""Module -> the names that tests take from it."""

_DOORS = {
    door.rpartition(" as ")[2]: (home, door.partition(" as ")[0])
    for home, names in HOMES.items()
    for door in names.split(", ")
}


def __getattr__(name: str) -> Any:
    """Load the name from its module, or the submodule of that name."""
    if name not in _DOORS:
        raise AttributeError(f"tests.doors has no door {name!r}", name=name, obj=None)
    home, inner = _DOORS[name]
    module = importlib.import_module(home)
    return getattr(module, inner) if hasattr(module, inner) else importlib.import_module(f"{home}.{inner}")


def __dir__() -> list[str]:
    return sorted(_DOORS)
