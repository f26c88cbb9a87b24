import { type KnownServer, loadServerWork, loadTrustedConfig } from "../../../src/assembly/mod.ts";
import { formatProblem, mcpJsonFile, userConfigFile } from "../../../src/config/mod.ts";
import { formatLocation } from "../../../src/core/mod.ts";
import type { McpToolInfo, ServerStatus } from "../../../src/mcp/mod.ts";
import { displayWidth, padDisplay } from "../../../src/util/display_width.ts";
import { isRecord } from "../../../src/util/json.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { forReader } from "../../terminal/narrow.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

/** Lists the servers that the files describe, and why some of them do not count. Nothing is started. */
export async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const { knownServers } = await loadServerWork();
  const rows = await knownServers(paths, loaded);
  const { stdout, stderr } = this.process;
  if (flags.json) {
    stdout.json(rows);
    return;
  }
  const ofServers = new Set(loaded.leftOut.map(({ place }) => formatLocation(place)));
  for (const warning of loaded.warnings) {
    const about = warning.place?.file.endsWith(".mcp.json") && !ofServers.has(formatLocation(warning.place));
    if (about) stderr.write(`! ${formatProblem(warning)}\n`);
  }
  if (rows.length === 0) {
    const files = [userConfigFile(paths), mcpJsonFile(paths.cwd)].join(" or ");
    stdout.write(
      forReader(`No MCP servers. Add one: reasonix mcp add NAME -- COMMAND, or write it into ${files}\n`),
    );
    return;
  }
  const home = paths.env("HOME");
  const short = (text: string) => home && home !== "/" ? text.replaceAll(`${home}/`, "~/") : text;
  stdout.write(forReader(rows.map((row) => short(rowText(row, paths.cwd))).join("")));
}

const STATES = {
  on: "on",
  off: "switched off",
  untrusted: "waits for trust",
  "left out": "not used",
} as const;

function rowText(
  { name, state, type, target, why, remedy, source, place, status }: KnownServer,
  cwd: string,
): string {
  const where = place === undefined ? "" : formatLocation(place).replace(`${cwd}/`, "");
  const head = [oneLine(name, 60), type, target === undefined ? undefined : oneLine(target, 300)];
  const facts = [STATES[state], remembered(status), [source, where].filter(Boolean).join(" ")]
    .filter((text) => text !== "");
  const reason = why === undefined
    ? ""
    : `  ${oneLine(why, 600)}${remedy ? `; ${oneLine(remedy, 300)}` : ""}\n`;
  return `${head.filter((text) => text !== undefined && text !== "").join("  ")}\n` +
    `  ${facts.join(" · ")}\n${reason}`;
}

function remembered(status: KnownServer["status"]): string {
  if (!status) return "";
  if (status.state === "provider") return "the model's provider speaks to it";
  const { lastFailure, isKnown } = status;
  if (lastFailure !== undefined) return `its last start failed: ${oneLine(lastFailure, 200)}`;
  return isKnown ? counted(status) : "never started";
}

/** The counted offer of a server: `2 tools, 1 prompt, 3 resources`. */
export function counted(
  { tools, prompts, resources }: Pick<ServerStatus, "tools" | "prompts" | "resources">,
): string {
  const some = ([[tools, "tool"], [prompts, "prompt"], [resources, "resource"]] as const)
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  return some.join(", ") || "no tools";
}

/** Tools in columns: name, `ro` where the server declares that it only reads, what it does, its arguments. */
export function toolLines(tools: readonly McpToolInfo[]): string[] {
  const names = tools.map(({ name }) => oneLine(name, 100));
  const width = Math.max(0, ...names.map(displayWidth));
  return tools.map(({ description, schema, claimsToRead }, at) => {
    const text = oneLine(firstSentence(description), 200);
    const parameters = parametersOf(schema);
    const what = [text, ...(parameters === "" ? [] : [`(${parameters})`])].filter(Boolean).join(" ");
    return `${padDisplay(names[at] ?? "", width)}  ${claimsToRead ? "ro" : "  "}  ${what}`.trimEnd();
  });
}

function parametersOf(schema: McpToolInfo["schema"]): string {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, value]) => {
    return oneLine(`${name}${required.includes(name) ? "" : "?"}: ${typeOf(value)}`, 80);
  }).join(", ");
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return "any";
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join("|");
  if (schema.type === "array") return `${typeOf(schema.items)}[]`;
  return [schema.type].flat().filter((type) => typeof type === "string").join("|") || "any";
}

function firstSentence(text: string): string {
  return /^[^]*?[.。](?=\s|$)/.exec(text)?.[0] ?? text;
}
