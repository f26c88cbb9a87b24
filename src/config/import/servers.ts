import type { TomlTable } from "../schema/json_schema.ts";
import { ImportPlan, type Origin } from "./plan.ts";
import { safeArguments, safeEnvironment, safeHeaders, safeText } from "./secrets.ts";

/** An MCP server as another agent describes it, in our words. */
export interface ForeignServer {
  readonly name: string;
  readonly origin: Origin;
  readonly type?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
  readonly url?: unknown;
  readonly headers?: unknown;
  readonly enabled: boolean;
  readonly cwd?: unknown;
  readonly headersHelper?: unknown;
  readonly oauth?: TomlTable | undefined;
  readonly timeoutSeconds?: number;
  readonly startupSeconds?: number;
  readonly enabledTools?: readonly string[];
  readonly disabledTools?: readonly string[];
  /** What of it has no counterpart. */
  readonly notes: readonly string[];
}

const REMOTE = ["http", "streamable-http", "sse"];

/** Takes over a server as an entry of `[[plugins]]`; what it lacks is said. */
export function takeServer(plan: ImportPlan, server: ForeignServer): void {
  const { name, origin } = server;
  const owner = { plan, origin, name };
  const type = typeText(server);
  if (type !== "stdio" && !REMOTE.includes(type)) {
    return plan.leave(origin, `the transport ${JSON.stringify(type)} is not there; stdio, http and sse are`);
  }
  const needed = type === "stdio" ? "command" : "url";
  if (typeof server[needed] !== "string" || server[needed] === "") {
    return plan.leave(origin, `the server has no ${needed}`);
  }
  const env = safeEnvironment(server.env, owner);
  const headers = safeHeaders(server.headers, owner);
  const args = safeArguments(server.args, owner);
  const entry: TomlTable & { name: string } = {
    name,
    ...(type === "stdio"
      ? { command: safeText(String(server.command), owner), ...(args.length > 0 ? { args } : {}) }
      : { type, url: safeText(String(server.url), owner, "api_key") }),
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(typeof server.cwd === "string" && type === "stdio" ? { cwd: server.cwd } : {}),
    ...(typeof server.headersHelper === "string" && type !== "stdio"
      ? { headers_helper: server.headersHelper }
      : {}),
    ...(server.oauth && type !== "stdio" ? { oauth: server.oauth } : {}),
    ...(server.startupSeconds ? { startup_timeout_seconds: server.startupSeconds } : {}),
    ...(server.timeoutSeconds ? { call_timeout_seconds: server.timeoutSeconds } : {}),
    ...(server.enabledTools?.length ? { enabled_tools: [...server.enabledTools] } : {}),
    ...(server.disabledTools?.length ? { disabled_tools: [...server.disabledTools] } : {}),
    ...(server.enabled ? {} : { enabled: false }),
  };
  const note = server.notes.length > 0 ? server.notes.join("; ") : undefined;
  plan.take(origin, { kind: "entry", list: "plugins", entry }, note);
}

/** The keys under which other agents, and our own files, describe servers. */
const SERVER_KEY = /^(?:mcpServers|mcp_servers|mcp|plugins)\b/;

/** The part of a plan that is about servers. */
export function serversOf(whole: ImportPlan): ImportPlan {
  const plan = new ImportPlan();
  plan.problems.push(...whole.problems);
  plan.left.push(...whole.left.filter(({ origin }) => SERVER_KEY.test(origin.text)));
  plan.steps.push(
    ...whole.steps.filter(({ change }) => change.kind === "entry" && change.list === "plugins"),
  );
  const entries = JSON.stringify(plan.steps.map(({ change }) => change));
  plan.keys.push(...whole.keys.filter(({ name }) => entries.includes(`\${${name}}`)));
  return plan;
}

function typeText({ type, command, url }: ForeignServer): string {
  if (typeof type === "string" && type !== "") {
    return type === "local" ? "stdio" : type === "remote" ? "http" : type;
  }
  return url !== undefined && command === undefined ? "http" : "stdio";
}
