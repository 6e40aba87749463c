// Written by scripts/reference.py from docs/schemas; do not edit.

export type Category = "already_exists" | "approval_required" | "bad_output" | "circuit_open" | "configuration" | "conflict" | "database_error" | "deadline_exceeded" | "infeasible" | "internal" | "invalid_argument" | "not_found" | "overloaded" | "permission_denied" | "precondition_failed" | "quota_exhausted" | "rate_limited" | "storage_error" | "timeout" | "unauthenticated" | "unavailable" | "unsupported" | "upstream_error";
export type RetryWhen = "after_fix" | "after_delay" | "never";
export type Effect = "none" | "unknown" | "applied";
export type NextStep = {
  tool: string;
  arguments: Record<string, unknown>;
};
export type Violation = {
  path: string;
  at?: string;
  reason: "missing" | "unexpected" | "type" | "enum" | "range" | "length" | "pattern" | "format" | "value" | "reference" | "unknown_tool";
  message?: string;
  expected?: string;
  allowed?: unknown[];
  suggestion?: unknown;
  received?: unknown;
  line?: number;
};
export type ToolResponseFailure = {
  success: false;
  error: {
    message: string;
    code: string;
    category: string;
    tool?: string;
    operation?: string;
    retry: {
      when: RetryWhen;
      after_seconds?: number;
    };
    effect: Effect;
    stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
    suggestions?: string[];
    next_step?: NextStep;
    details?: Record<string, unknown>;
    violations?: Violation[];
    cause?: Record<string, unknown> | string;
    stack_trace?: string;
    error_id: string;
    timestamp?: string;
  };
  metadata?: {
    execution_time_ms?: number;
    cache_hit?: boolean;
    documents_processed?: number;
    warnings?: string[];
    recovery?: {
      strategy: string;
      message: string;
      attempts: number;
      changed?: Record<string, unknown>;
      degraded?: boolean;
      rule?: string;
    };
  };
};
export type EditEnvelopeFailure = {
  success: false;
  error_code: string;
  message: string;
  retryable: boolean;
  file_path?: string;
  file_index?: number;
  edit_index?: number;
  recovery_hints: string[];
  context?: {
    snippet?: string;
    match_locations?: {
      line: number;
      snippet: string;
    }[];
    more_matches?: number;
  };
  edit_status?: ({
    edit_index: number;
    status: "failed" | "skipped";
    error_code?: string;
    message?: string;
    old_string_preview?: string;
  })[];
  backup_path?: string;
  details?: Record<string, unknown>;
  cause?: Record<string, unknown> | string;
  stack_trace?: string;
  effect: Effect;
  stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
  next_step?: NextStep;
  violations?: Violation[];
  error_id: string;
};
export type SystemErrorFailure = {
  error_code: string;
  human_message: string;
  role: string | null;
  session_id: string | null;
  workspace_root: string | null;
  tool_name: string;
  invariant_id: string | null;
  phase_id: string | null;
  plan_hash: string | null;
  cause: string | Record<string, unknown> | null;
  timestamp: string;
  stack_trace?: string;
  suggestions?: string[];
  details?: Record<string, unknown>;
  effect: Effect;
  stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
  next_step?: NextStep;
  violations?: Violation[];
  error_id: string;
};
export type CodedErrorFailure = {
  success: false;
  error_type: "validation_error" | "not_found_error" | "infeasibility_error" | "library_error" | "database_error" | "timeout_error" | "server_error";
  error_code: string;
  jsonrpc_error_code: number;
  message: string;
  details?: Record<string, unknown>;
  suggestions?: string[];
  tool_name: string;
  timestamp: string;
  cause?: Record<string, unknown> | string;
  stack_trace?: string;
  effect: Effect;
  stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
  next_step?: NextStep;
  violations?: Violation[];
  error_id: string;
};
export type ErrorResponseFailure = {
  error: true;
  code: string;
  message: string;
  details?: {
    fieldErrors?: Record<string, unknown>;
    totalErrors?: number;
  };
  suggestions?: string[];
  cause?: Record<string, unknown> | string;
  stack_trace?: string;
  effect: Effect;
  stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
  next_step?: NextStep;
  violations?: Violation[];
  error_id: string;
};
export type ProblemFailure = {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  retry: {
    when: RetryWhen;
    after_seconds?: number;
  };
  errors?: {
    pointer: string;
    detail: string;
    reason: string;
    expected?: string;
  }[];
  suggestions?: string[];
  details?: Record<string, unknown>;
  cause?: Record<string, unknown> | string;
  stack_trace?: string;
  effect: Effect;
  stop_reason?: "not_transient" | "effect_possible" | "attempts" | "budget" | "deadline" | "wait_too_long" | "circuit_open" | "rejected" | "no_strategy" | "repeated";
  next_step?: NextStep;
  error_id: string;
};
