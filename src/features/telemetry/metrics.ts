import type { Meter } from "@opentelemetry/api";
import { tokenKinds } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import type { Observed, Reader, ReaderOptions } from "./observed.ts";
import { attributes, type Operation, Operations } from "./operations.ts";

type Names = "gen_ai" | "claude_code";
type OperationOf<K extends Operation["kind"]> = Extract<Operation, { kind: K }>;

/** Counts and measures what happens, under the names of the conventions or those of Claude Code. */
export function metricReader(names: Names, meter: Meter, { redact }: ReaderOptions): Reader {
  const operations = new Operations();
  const own = names === "gen_ai" ? genAiMetrics(meter, redact) : claudeCodeMetrics(meter, redact);
  return {
    take(observed: Observed) {
      for (const operation of operations.take(observed)) own(operation);
    },
    end() {},
  };
}

type Redact = ReaderOptions["redact"];

/** Bounds that the conventions demand. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_SECONDS = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

function genAiMetrics(meter: Meter, redact: Redact): (operation: Operation) => void {
  const histogram = (name: string, unit: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description });
  const usage = histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Number of input and output tokens used.",
    TOKENS,
  );
  const duration = histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", SECONDS);
  const firstChunk = histogram(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "Time to receive the first chunk of a reply.",
    SECONDS,
  );
  const agent = histogram("gen_ai.invoke_agent.duration", "s", "Duration of a turn.", AGENT_SECONDS);
  const tool = histogram("gen_ai.execute_tool.duration", "s", "Duration of a call.", SECONDS);
  const tokens = counter("reasonix.tokens", "{token}", "Tokens by kind; the kinds add up to all tokens.");
  const cost = counter("reasonix.cost", "{currency}", "Cost of the requests with a known price.");
  const unpriced = counter("reasonix.unpriced_requests", "{request}", "Requests without a known price.");
  const results = counter("reasonix.tool.results", "{call}", "Calls by their outcome.");
  const decisions = counter("reasonix.decisions", "{decision}", "Decisions about calls.");
  const lines = counter("reasonix.lines", "{line}", "Lines that tools added and removed.");

  const request = (operation: OperationOf<"request">) => {
    const { provider, model, session: { server, agent: name } } = operation;
    const asked = { "gen_ai.provider.name": provider, "gen_ai.request.model": model };
    const place = { "server.address": server?.address, "server.port": server?.port };
    const target = attributes({ "gen_ai.operation.name": "chat", ...asked, ...place }, redact);
    const { failure, firstChunkMs, durationMs } = operation;
    duration.record(durationMs / 1000, { ...target, ...(failure ? { "error.type": failure.type } : {}) });
    if (firstChunkMs !== undefined) firstChunk.record(firstChunkMs / 1000, target);
    if (!operation.usage) return;
    usage.record(operation.usage.inputTokens, { ...target, "gen_ai.token.type": "input" });
    usage.record(operation.usage.outputTokens, { ...target, "gen_ai.token.type": "output" });
    const whose = attributes({ ...asked, "gen_ai.agent.name": name }, redact);
    for (const [kind, count] of Object.entries(tokenKinds(operation.usage))) {
      tokens.add(count, { ...whose, "reasonix.token.kind": kind });
    }
    if (!operation.cost) unpriced.add(1, whose);
    else cost.add(operation.cost.amount, { ...whose, "reasonix.currency": operation.cost.currency });
  };

  const call = (operation: OperationOf<"call">) => {
    const { end, session } = operation;
    const named = attributes({
      "gen_ai.tool.name": operation.tool,
      "gen_ai.agent.name": session.agent,
    }, redact);
    results.add(1, { ...named, "reasonix.outcome": end.outcome });
    if (operation.executed) {
      const error = end.outcome === "ok" ? {} : { "error.type": end.outcome };
      tool.record(end.durationMs / 1000, { ...named, "gen_ai.tool.type": "function", ...error });
    }
    for (const [type, count] of changedLines(operation)) lines.add(count, { "reasonix.change": type });
  };

  return (operation) => {
    switch (operation.kind) {
      case "request":
        return request(operation);
      case "call":
        return call(operation);
      case "decision": {
        const { tool, event: { decision, source } } = operation;
        return decisions.add(1, {
          ...attributes({ "gen_ai.tool.name": tool || undefined }, redact),
          "reasonix.decision": decision,
          "reasonix.decision.source": source,
        });
      }
      case "turn": {
        const { event: { durationMs, reason }, session } = operation;
        const error = reason === "done" ? undefined : reason;
        return agent.record(
          durationMs / 1000,
          attributes({ "gen_ai.agent.name": session.agent, "error.type": error }, redact),
        );
      }
    }
  };
}

/** The lines that a call has added and removed, where there are any. */
function changedLines({ end: { changes = [] } }: OperationOf<"call">): ["added" | "removed", number][] {
  const written = changes.filter(({ change, written }) => written !== false && change !== "unchanged");
  return (["added", "removed"] as const).flatMap((type) => {
    const count = written.reduce((sum, each) => sum + each[type], 0);
    return count === 0 ? [] : [[type, count]];
  });
}

/** The metrics that dashboards for Claude Code show; costs in other currencies than dollars are left out. */
function claudeCodeMetrics(meter: Meter, redact: Redact): (operation: Operation) => void {
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
        const whose = attributes({
          ...common,
          model,
          query_source: QUERY_SOURCES[operation.purpose],
          "agent.name": session.agent,
        }, redact);
        if (spent?.currency === "USD") cost.add(spent.amount, whose);
        if (!usage) return;
        const { input, cached, cache_write } = tokenKinds(usage);
        tokens.add(input, { ...whose, type: "input" });
        tokens.add(usage.outputTokens, { ...whose, type: "output" });
        tokens.add(cached, { ...whose, type: "cacheRead" });
        return tokens.add(cache_write, { ...whose, type: "cacheCreation" });
      }
      case "call": {
        const { tool, paths, decision } = operation;
        for (const [type, count] of changedLines(operation)) {
          lines.add(count, { ...attributes({ ...common, model: session.model }, redact), type });
        }
        if (makes(COMMIT, operation)) commits.add(1, common);
        if (makes(PULL_REQUEST, operation)) pullRequests.add(1, common);
        if (!decision || !EDIT_TOOLS.has(tool)) return;
        return decisions.add(1, {
          ...common,
          tool_name: tool === "write_file" ? "Write" : "Edit",
          ...claudeDecision(decision),
          language: languageOf(paths[0] ?? ""),
        });
      }
      case "turn":
        // The time of agents is part of the turn that they work for.
        if (session.depth > 0) return;
        return activeTime.add(operation.event.durationMs / 1000, { ...common, type: "cli" });
    }
  };
}

const QUERY_SOURCES = {
  main: "main",
  agent: "subagent",
  compaction: "auxiliary",
  image: "auxiliary",
} as const;
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
function makes(what: typeof COMMIT, { call, tool, end }: OperationOf<"call">): boolean {
  if (end.outcome !== "ok" || (end.exitCode ?? 0) !== 0) return false;
  if (tool !== "bash") return what.tool.test(tool);
  const args = parseJson(call.arguments);
  return isRecord(args) && typeof args.command === "string" && what.command.test(args.command);
}

/** A decision in the words of Claude Code. */
export function claudeDecision({ accepted, source }: NonNullable<OperationOf<"call">["decision"]>) {
  const user = accepted ? "user_temporary" : "user_reject";
  return { decision: accepted ? "accept" : "reject", source: source === "user" ? user : source };
}

const LANGUAGES: Readonly<Record<string, string>> = {
  c: "C",
  cpp: "C++",
  cs: "C#",
  css: "CSS",
  go: "Go",
  html: "HTML",
  java: "Java",
  js: "JavaScript",
  json: "JSON",
  jsx: "JavaScript",
  kt: "Kotlin",
  md: "Markdown",
  php: "PHP",
  py: "Python",
  rb: "Ruby",
  rs: "Rust",
  sh: "Shell",
  sql: "SQL",
  swift: "Swift",
  toml: "TOML",
  ts: "TypeScript",
  tsx: "TypeScript",
  yaml: "YAML",
  yml: "YAML",
};

function languageOf(path: string): string {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(LANGUAGES, ending) ? LANGUAGES[ending] ?? "unknown" : "unknown";
}
