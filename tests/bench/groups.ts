/** All groups in the order of the report: one line per group. */
import { acpRows } from "./acp/acp.ts";
import { batchRows } from "./batch.ts";
import { chatRows } from "./chat/chat.ts";
import { fileRows } from "./chat/files.ts";
import { fullRows } from "./chat/full.ts";
import { hookRows } from "./hooks/hooks.ts";
import { editRows } from "./inside/edits.ts";
import { decisionRows, jailRows } from "./inside/safety.ts";
import { searchRows } from "./inside/search.ts";
import { stopRows } from "./inside/stop.ts";
import { installRows } from "./install.ts";
import { mcpRows } from "./mcp/mcp.ts";
import { peerRunRows } from "./peers/runs.ts";
import { pluginRows } from "./plugins.ts";
import type { Row } from "./report.ts";
import type { Bench } from "./runner.ts";
import type { Scenario } from "./scenario.ts";
import { MEMORY } from "./scenarios/memory.ts";
import { STARTS } from "./scenarios/start.ts";
import { COMMANDS, NO_JAIL, STEPS, TASKS, WRITES } from "./scenarios/steps.ts";
import { sessionRows } from "./sessions.ts";
import { telemetryRows } from "./telemetry.ts";
import { webRows } from "./web/web.ts";

/** Related figures: runs of scenarios, or a part with a separate measurement. */
export interface Group {
  readonly name: string;
  readonly title: string;
  readonly scenarios?: readonly Scenario[];
  readonly rows?: (bench: Bench) => Promise<Row[]>;
  /** It has rows only if its subject is requested and installed. */
  readonly optional?: true;
}

export const GROUPS: readonly Group[] = [
  { name: "start", title: "Start", scenarios: STARTS },
  { name: "steps", title: "Steps", scenarios: STEPS },
  { name: "write", title: "Writing files", scenarios: WRITES },
  { name: "command", title: "Commands", scenarios: COMMANDS },
  { name: "jail", title: "A jail", rows: jailRows },
  { name: "decision", title: "Decisions", rows: decisionRows },
  { name: "whole", title: "A whole task", scenarios: TASKS },
  { name: "memory", title: "Memory of all processes", scenarios: MEMORY },
  { name: "stop", title: "Stopping", rows: stopRows },
  { name: "search", title: "Search", rows: searchRows },
  { name: "sessions", title: "Sessions on disk", rows: sessionRows },
  { name: "edit", title: "Patches", rows: editRows },
  { name: "no_jail", title: "Without jail and permissions", scenarios: NO_JAIL },
  { name: "chat", title: "Chat", rows: chatRows },
  { name: "full", title: "The full-screen view", rows: fullRows },
  { name: "files", title: "Files behind @", rows: fileRows },
  { name: "acp", title: "Editors", rows: acpRows },
  { name: "web", title: "The web page", rows: webRows },
  { name: "mcp", title: "MCP servers", rows: mcpRows },
  { name: "plugins", title: "Plugins of the program", rows: pluginRows },
  { name: "hooks", title: "Hooks", rows: hookRows },
  { name: "batch", title: "Batches on many machines", rows: batchRows },
  { name: "telemetry", title: "Telemetry", rows: telemetryRows },
  { name: "install", title: "Installed by npm", rows: installRows },
  { name: "peers", title: "Other agents", rows: peerRunRows, optional: true },
];
