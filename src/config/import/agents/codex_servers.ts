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
    const some = Array.isArray(server.enabled_tools);
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
      enabled: server.enabled !== false && !some,
      ...(typeof server.tool_timeout_sec === "number" ? { timeoutSeconds: server.tool_timeout_sec } : {}),
      notes: [
        ...(some ? ["switched off: a list of its only tools (enabled_tools) has no counterpart"] : []),
        ...Object.keys(server).filter((key) => !SERVER_KEYS.includes(key)).map((key) => `without ${key}`),
      ],
    });
    for (
      const { path: at, text } of textsOf(plan, document, [...path, "disabled_tools"], server.disabled_tools)
    ) {
      const item = `mcp__${name}__${text}`;
      plan.take(originOf(document, at, text), { kind: "item", key: "permissions.deny", item });
    }
  }
}
