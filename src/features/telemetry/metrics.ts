import type { Attributes, Meter } from "@opentelemetry/api";
import { isWritten, tokenKinds } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import {
  agentName,
  attributesOf,
  type ContentOptions,
  isExecuted,
  modelValues,
  serverValues,
  timesOf,
  type Values,
} from "./conventions.ts";
import type { OperationOf, OperationSink } from "./operations.ts";

/** Counts and measures what happens, under the names of the conventions or those of Claude Code. */
export function operationMetrics(
  names: "gen_ai" | "claude_code",
  meter: Meter,
  { redact }: ContentOptions,
): OperationSink {
  const safe: Safe = (values) => attributesOf(values, redact);
  return names === "gen_ai" ? genAiMetrics(meter, safe) : claudeCodeMetrics(meter, safe);
}

/** The known values, their texts redacted. */
type Safe = (values: Values) => Attributes;

/** Bounds that the conventions name. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const TURN_SECONDS = Array.from({ length: 13 }, (_, power) => 0.1 * 2 ** power);
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

function genAiMetrics(meter: Meter, safe: Safe): OperationSink {
  const histogram = (name: string, unit: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description });
  const inference = "gen_ai.client.inference";
  const tokens = (name: string, description: string) =>
    counter(`${inference}.usage.${name}`, "{token}", description);

  const duration = histogram(`${inference}.duration`, "s", "Duration of a request.", SECONDS);
  const firstChunk = histogram(`${inference}.time_to_first_chunk`, "s", "Time to the first chunk.", SECONDS);
  const input = tokens("input_tokens", "Input tokens, cached ones included.");
  const cacheRead = tokens("cache_read.input_tokens", "Input tokens that were read from the cache.");
  const cacheWrite = tokens("cache_write.input_tokens", "Input tokens that were written to the cache.");
  const output = tokens("output_tokens", "Output tokens, those of reasoning included.");
  const reasoning = tokens("reasoning.output_tokens", "Output tokens of reasoning.");
  const inputOf = histogram(`${inference}.operation.input_tokens`, "{token}", "Input of a request.", TOKENS);
  const outputOf = histogram(
    `${inference}.operation.output_tokens`,
    "{token}",
    "Output of a request.",
    TOKENS,
  );
  const turn = histogram("gen_ai.invoke_agent.duration", "s", "Duration of a turn.", TURN_SECONDS);
  const tool = histogram("gen_ai.execute_tool.duration", "s", "Duration of a call.", SECONDS);
  const cost = counter("reasonix.cost", "{currency}", "Cost of the requests with a known price.");
  const unpriced = counter("reasonix.unpriced_requests", "{request}", "Requests without a known price.");
  const retries = counter("reasonix.retries", "{attempt}", "Attempts at requests that were repeated.");
  const results = counter("reasonix.tool.results", "{call}", "Calls by their outcome.");
  const decisions = counter("reasonix.decisions", "{decision}", "Decisions about calls.");
  const lines = counter("reasonix.lines", "{line}", "Lines that tools have added and removed.");

  const request = (operation: OperationOf<"request">) => {
    const { usage, error, session } = operation;
    const { durationMs, firstChunkMs } = timesOf(operation);
    const target = { ...modelValues(operation), ...serverValues(operation) };
    duration.record(durationMs / 1000, safe({ ...target, "error.type": error }));
    if (firstChunkMs !== undefined) firstChunk.record(firstChunkMs / 1000, safe(target));
    const used = safe({ ...target, "gen_ai.token.modality": "unknown" });
    input.add(usage?.inputTokens ?? 0, used);
    output.add(usage?.outputTokens ?? 0, used);
    if (!usage) return;
    cacheRead.add(usage.cachedTokens, used);
    cacheWrite.add(usage.cacheWriteTokens ?? 0, used);
    reasoning.add(usage.reasoningTokens, used);
    inputOf.record(usage.inputTokens, safe(target));
    outputOf.record(usage.outputTokens, safe(target));
    const whose = { ...target, "gen_ai.agent.name": agentName(session) };
    if (!operation.cost) unpriced.add(1, safe(whose));
    else cost.add(operation.cost.amount, safe({ ...whose, "reasonix.currency": operation.cost.currency }));
  };

  return (operation) => {
    const agent = agentName(operation.session);
    switch (operation.kind) {
      case "request":
        return request(operation);
      case "retry":
        return retries.add(1, safe({ ...modelValues(operation), "error.type": operation.error }));
      case "call": {
        const { end, error } = operation;
        if (!end) return;
        const named = { "gen_ai.tool.name": operation.tool, "gen_ai.agent.name": agent };
        const values = safe({ ...named, "gen_ai.tool.type": "function", "error.type": error });
        if (isExecuted(operation)) tool.record(end.durationMs / 1000, values);
        results.add(1, safe({ ...named, "reasonix.tool.outcome": end.outcome }));
        for (const [type, count] of changedLines(operation)) lines.add(count, { "reasonix.change": type });
        return;
      }
      case "decision": {
        const { decision, source } = operation.event;
        const values = { "reasonix.decision": decision, "reasonix.decision.source": source };
        return decisions.add(1, safe({ "gen_ai.tool.name": operation.tool, ...values }));
      }
      case "turn": {
        const values = { "gen_ai.agent.name": agent, "error.type": operation.error };
        if (operation.end) turn.record(operation.end.durationMs / 1000, safe(values));
      }
    }
  };
}

/** The lines that a call has added and removed, where there are any. */
function changedLines({ end }: OperationOf<"call">): ["added" | "removed", number][] {
  const written = end?.changes?.filter(isWritten) ?? [];
  return (["added", "removed"] as const).flatMap((type) => {
    const count = written.reduce((sum, each) => sum + each[type], 0);
    return count === 0 ? [] : [[type, count]];
  });
}

/** The metrics that dashboards for Claude Code show; costs in other currencies than dollars are left out. */
function claudeCodeMetrics(meter: Meter, safe: Safe): OperationSink {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`claude_code.${name}`, { unit, description });
  const sessions = counter("session.count", "", "Count of CLI sessions started");
  const lines = counter("lines_of_code.count", "", "Count of lines of code modified");
  const pullRequests = counter("pull_request.count", "", "Number of pull requests created");
  const commits = counter("commit.count", "", "Number of git commits created");
  const cost = counter("cost.usage", "USD", "Cost of the session");
  const tokens = counter("token.usage", "tokens", "Number of tokens used");
  const decisions = counter("code_edit_tool.decision", "", "Count of decisions about tools that edit files");
  const activeTime = counter("active_time.total", "s", "Total active time in seconds");

  return (operation) => {
    const { session, root } = operation;
    const common = { "session.id": root };
    switch (operation.kind) {
      case "session":
        return sessions.add(1, { ...common, start_type: operation.resumed ? "resume" : "fresh" });
      case "request": {
        const { model, usage, cost: spent } = operation;
        const whose = safe({
          ...common,
          model,
          query_source: QUERY_SOURCES[operation.purpose] ?? "auxiliary",
          "agent.name": session.agent,
        });
        if (spent?.currency === "USD") cost.add(spent.amount, whose);
        if (!usage) return;
        const { input, cached, cache_write } = tokenKinds(usage);
        tokens.add(input, { ...whose, type: "input" });
        tokens.add(usage.outputTokens, { ...whose, type: "output" });
        tokens.add(cached, { ...whose, type: "cacheRead" });
        return tokens.add(cache_write, { ...whose, type: "cacheCreation" });
      }
      case "call": {
        const { tool, start } = operation;
        const decision = claudeDecision(operation);
        for (const [type, count] of changedLines(operation)) {
          lines.add(count, safe({ ...common, model: session.model, type }));
        }
        if (makes(COMMIT, operation)) commits.add(1, common);
        if (makes(PULL_REQUEST, operation)) pullRequests.add(1, common);
        if (!decision || !EDIT_TOOLS.has(tool)) return;
        return decisions.add(1, {
          ...common,
          tool_name: tool === "write_file" ? "Write" : "Edit",
          ...decision,
          language: languageOf(start.paths?.[0] ?? ""),
        });
      }
      case "turn":
        // The time of agents is part of the turn that they work for.
        if (session.depth > 0 || !operation.end) return;
        return activeTime.add(operation.end.durationMs / 1000, { ...common, type: "cli" });
    }
  };
}

const QUERY_SOURCES: Readonly<Record<string, string>> = { main: "main", agent: "subagent" };
const EDIT_TOOLS: ReadonlySet<string> = new Set([
  "write_file",
  "edit_file",
  "multi_edit",
  "apply_patch",
  "move_file",
]);

const GIT = String.raw`\bgit(?:\s+-[cC]\s+\S+|\s+--?[a-z-]+(?:=\S+)?)*\s+`;
const COMMIT = { command: new RegExp(`${GIT}commit(?=$|[\\s;&|)])`), tool: /^$/ };
const PULL_REQUEST = {
  command: /\b(?:gh\s+pr|glab\s+mr)\s+create\b/,
  tool: /^mcp__.+__create_(?:pull|merge)_request$/,
};

/** Reports whether a call has made something, by its command line or by the name of the tool. */
function makes(what: typeof COMMIT, { start, tool, end }: OperationOf<"call">): boolean {
  if (end?.outcome !== "ok" || (end.exitCode ?? 0) !== 0) return false;
  if (tool !== "bash") return what.tool.test(tool);
  const args = parseJson(start.call.arguments);
  return isRecord(args) && typeof args.command === "string" && what.command.test(args.command);
}

/**
 * The decision about a call in the words of Claude Code; undefined where there was none. "config" are rules,
 * modes and earlier answers.
 */
export function claudeDecision(call: OperationOf<"call">) {
  const { approval, asked, end } = call;
  if (!approval && !isExecuted(call) && end?.outcome !== "blocked") return undefined;
  const accepted = approval ? approval.decision === "allow" : isExecuted(call);
  const user = accepted ? "user_temporary" : "user_reject";
  const by = approval?.source;
  return {
    decision: accepted ? "accept" : "reject",
    source: by === "hook" ? by : by === "user" && asked ? user : "config",
  };
}

const LANGUAGE_ENDINGS =
  "TypeScript ts tsx mts, JavaScript js jsx mjs cjs, Python py, Rust rs, Go go, Java java, Kotlin kt, Swift swift, " +
  "C c h, C++ cc cpp hpp, C# cs, PHP php, Ruby rb, Shell sh bash, SQL sql, HTML html, CSS css, JSON json, " +
  "YAML yaml yml, TOML toml, Markdown md";

/** Languages by the endings of files. */
const LANGUAGES: ReadonlyMap<string, string> = new Map(
  LANGUAGE_ENDINGS.split(", ").flatMap((line) => {
    const [name = "", ...endings] = line.split(" ");
    return endings.map((ending) => [ending, name] as const);
  }),
);

function languageOf(path: string): string {
  return LANGUAGES.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase()) ?? "unknown";
}
