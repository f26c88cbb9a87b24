import { isTable } from "../../schema/json_schema.ts";
import { type ForeignDocument, originOf, textsOf } from "../document.ts";
import type { ImportPlan } from "../plan.ts";
import { takeServer } from "../servers.ts";

/** Headers whose values are in variables. */
export function fromEnvironment(names: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isTable(names) ? names : {}).map(([header, name]) => [header, `\${${String(name)}}`]),
  );
}

const SERVER_KEYS = [
  "command",
  "args",
  "env",
  "env_vars",
  "url",
  "bearer_token_env_var",
  "http_headers",
  "env_http_headers",
  "enabled",
  "cwd",
  "startup_timeout_sec",
  "startup_timeout_ms",
  "tool_timeout_sec",
  "enabled_tools",
  "disabled_tools",
];

/** Plans what codex's MCP servers become. */
export function planCodexServers(plan: ImportPlan, document: ForeignDocument): void {
  const servers = document.table.mcp_servers;
  for (const [name, server] of Object.entries(isTable(servers) ? servers : {})) {
    const origin = originOf(document, ["mcp_servers", name]);
    if (!isTable(server)) {
      plan.leave(origin, "it is no description of a server");
      continue;
    }
    const path = ["mcp_servers", name];
    const passed = Object.fromEntries(
      textsOf(plan, document, [...path, "env_vars"], server.env_vars).map((
        { text },
      ) => [text, `\${${text}:-}`]),
    );
    const bearer = server.bearer_token_env_var;
    const tools = (key: string) =>
      textsOf(plan, document, [...path, key], server[key]).map(({ text }) => text);
    const { startup_timeout_sec: seconds, startup_timeout_ms: milliseconds } = server;
    const enabledTools = tools("enabled_tools");
    takeServer(plan, {
      name,
      origin,
      command: server.command,
      args: server.args,
      env: { ...passed, ...(isTable(server.env) ? server.env : {}) },
      url: server.url,
      headers: {
        ...(typeof bearer === "string" ? { Authorization: `Bearer \${${bearer}}` } : {}),
        ...(isTable(server.http_headers) ? server.http_headers : {}),
        ...fromEnvironment(server.env_http_headers),
      },
      // An empty list means every tool here, and none there.
      enabled: server.enabled !== false &&
        !(Array.isArray(server.enabled_tools) && enabledTools.length === 0),
      cwd: server.cwd,
      enabledTools,
      disabledTools: tools("disabled_tools"),
      ...(typeof seconds === "number"
        ? { startupSeconds: seconds }
        : typeof milliseconds === "number"
        ? { startupSeconds: milliseconds / 1000 }
        : {}),
      ...(typeof server.tool_timeout_sec === "number" ? { timeoutSeconds: server.tool_timeout_sec } : {}),
      notes: Object.keys(server).filter((key) => !SERVER_KEYS.includes(key)).map((key) => `without ${key}`),
    });
  }
}
