// Typed failures of failsoft servers: `parseFailure` reads one, `withRecovery` acts on it.
import type { Category, Effect, NextStep, RetryWhen, Violation } from "./types.ts";

export type * from "./types.ts";

/** What `_meta["dev.failsoft/error"]` and `_meta["dev.failsoft/idempotency-key"]` are called. */
export const ERROR_KEY = "dev.failsoft/error";
export const KEY_KEY = "dev.failsoft/idempotency-key";

/** One failed call, whatever the wire format it came in. */
export interface Failure {
  code: string;
  /** Left out for servers that know no categories. */
  category?: Category | (string & {});
  message: string;
  retry: { when: RetryWhen; afterSeconds?: number };
  /** Whether the failed call changed anything. */
  effect: Effect;
  suggestions: string[];
  nextStep?: NextStep;
  violations: Violation[];
  errorId?: string;
}

/** The parts of a `tools/call` result that both major versions of the SDK have. */
export interface ToolResult {
  isError?: boolean | undefined;
  content?: unknown;
  structuredContent?: unknown;
  _meta?: Record<string, unknown> | undefined;
}

type Tree = Record<string, unknown>;

/** Returns the failure that a result reports, or `undefined` if it is a success. */
export function parseFailure(result: ToolResult): Failure | undefined {
  const text = textOf(result.content);
  const tree = asTree(result.structuredContent) ?? parsed(text) ?? {};
  const body = asTree(tree["error"]) ?? tree;
  const meta = asTree(result._meta?.[ERROR_KEY]) ?? {};
  const code = string(meta["code"]) ?? string(body["code"]) ?? string(body["error_code"]);
  const isOurs = code !== undefined && ("code" in meta || ("effect" in body && "error_id" in body));
  if (!isOurs && result.isError !== true) return undefined;
  const failure: Failure = {
    code: isOurs ? code : "REPORTED_FAILURE",
    message: messageOf(body) ?? (text || "no reason given"),
    retry: retryOf(asTree(meta["retry"]) ?? asTree(body["retry"]), body["retryable"]),
    effect: effectOf(meta["effect"] ?? body["effect"]),
    suggestions: strings(body["suggestions"] ?? body["recovery_hints"]),
    violations: violationsOf(body),
  };
  const category = string(meta["category"]) ?? string(body["category"]);
  if (category !== undefined) failure.category = category;
  const errorId = string(meta["error_id"]) ?? string(body["error_id"]);
  if (errorId !== undefined) failure.errorId = errorId;
  const step = asTree(body["next_step"]);
  if (step !== undefined && typeof step["tool"] === "string") {
    failure.nextStep = { tool: step["tool"], arguments: asTree(step["arguments"]) ?? {} };
  }
  return failure;
}

/** What `withRecovery` throws for a call that failed for good. */
export class FailsoftError extends Error {
  override readonly name = "FailsoftError";
  readonly failure: Failure;
  readonly result: ToolResult;

  constructor(failure: Failure, result: ToolResult) {
    super(`${failure.code}: ${failure.message}`);
    this.failure = failure;
    this.result = result;
  }
}

/** The parameters of `callTool` in both major versions of the SDK. */
export interface CallParams {
  name: string;
  arguments?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** Anything with the SDK's `callTool`. */
export interface ToolCaller {
  callTool(params: CallParams, ...rest: never[]): Promise<unknown>;
}

export interface RecoveryOptions {
  /** How often a call is sent in all; 3 by default. */
  attempts?: number;
  /** The longest wait before a repeat, in milliseconds; 30,000 by default. */
  patienceMs?: number;
  /** Returns the idempotency key of a call, which makes a repeat of it safe. */
  key?: (params: CallParams) => string | undefined;
  /** Ends the waits. */
  signal?: AbortSignal;
}

/** Returns a caller that repeats calls by the server's advice, and throws `FailsoftError` for those that fail for good. */
export function withRecovery(
  client: ToolCaller,
  options: RecoveryOptions = {},
): { callTool(params: CallParams): Promise<ToolResult> } {
  const attempts = Math.max(1, options.attempts ?? 3);
  const patienceMs = options.patienceMs ?? 30_000;
  return {
    async callTool(params) {
      const key = options.key?.(params);
      const sent = key === undefined ? params : { ...params, _meta: { ...params._meta, [KEY_KEY]: key } };
      for (let run = 1; ; run += 1) {
        const result = (await client.callTool(sent)) as ToolResult;
        const failure = parseFailure(result);
        if (failure === undefined) return result;
        const waitMs = (failure.retry.afterSeconds ?? 0) * 1_000;
        const isFinal = failure.retry.when !== "after_delay" || run >= attempts || waitMs > patienceMs;
        if (isFinal) throw new FailsoftError(failure, result);
        await pause(waitMs, options.signal);
      }
    },
  };
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

function messageOf(body: Tree): string | undefined {
  return ["message", "human_message", "detail", "error", "title"].map((name) => string(body[name])).find(Boolean);
}

function retryOf(retry: Tree | undefined, retryable: unknown): Failure["retry"] {
  const when = retry?.["when"];
  const known = when === "after_fix" || when === "after_delay" || when === "never" ? when : undefined;
  const after = retry?.["after_seconds"];
  const advice = known ?? (retryable === false ? "never" : "after_fix");
  return typeof after === "number" ? { when: advice, afterSeconds: after } : { when: advice };
}

function effectOf(effect: unknown): Effect {
  return effect === "none" || effect === "applied" ? effect : "unknown";
}

/** `problem` points into the arguments with JSON pointers; the others use dotted paths. */
function violationsOf(body: Tree): Violation[] {
  const listed = body["violations"] ?? body["errors"];
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((item) => {
    const fault = asTree(item);
    if (fault === undefined) return [];
    const path = string(fault["path"]) ?? (string(fault["pointer"]) ?? "").replace(/^[#/]+/, "").replaceAll("/", ".");
    return [{ ...fault, path } as Violation];
  });
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.flatMap((block) => (asTree(block)?.["type"] === "text" ? [String(block.text)] : [])).join("\n");
}

function parsed(text: string): Tree | undefined {
  try {
    return text.trimStart().startsWith("{") ? asTree(JSON.parse(text)) : undefined;
  } catch {
    return undefined;
  }
}

function asTree(value: unknown): Tree | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Tree) : undefined;
}

function string(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
