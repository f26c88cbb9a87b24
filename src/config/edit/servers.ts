import { type ProviderTable, rewriteConfig, writeConfig } from "./edit.ts";
import { ImportPlan, takeServer, variableName } from "../foreign/plan.ts";
import { parseJsonc } from "../load/jsonc.ts";
import { readText } from "../load/layer.ts";
import { ConfigError, type ConfigProblem } from "../problem.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { message, ReasonixError, textOf, usageError } from "../../core/mod.ts";
import { canonicalJson, isRecord } from "../../util/json.ts";

export { writeConfig };

/** A server as the command line describes it: an entry of `[[plugins]]` with its secrets. */
export type NewServer = TomlTable & { readonly name: string };

export interface FileChange {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

export interface LiftedSecret {
  readonly variable: string;
  readonly value: string;
}

/**
 * Works out the file with another server at the end of its `[[plugins]]`. What looks secret is lifted out of
 * it into variables; `taken` says that a variable has another value already, so that it gets another name.
 *
 * @throws {ReasonixError} when the file cannot be read, or would not load
 */
export async function addServer(
  path: string,
  server: NewServer,
  taken: (variable: string, value: string) => boolean,
): Promise<{ readonly change: FileChange; readonly secrets: readonly LiftedSecret[] }> {
  const { entry, secrets } = withoutSecrets(server, taken);
  return { change: await addEntry(path, entry), secrets };
}

/** Works out the file with another entry, as it is given, at the end of its `[[plugins]]`. */
export async function addEntry(path: string, entry: TomlTable): Promise<FileChange> {
  const change = await rewriteConfig(path, (table) => {
    const list = Array.isArray(table.plugins) ? table.plugins : [];
    table.plugins = [...list, entry];
  }, HEADER);
  return { path, ...change };
}

const HEADER = "# Reasonix configuration, begun by reasonix. Every setting: reasonix config show\n";

function withoutSecrets(
  server: NewServer,
  taken: (variable: string, value: string) => boolean,
): { readonly entry: ProviderTable; readonly secrets: readonly LiftedSecret[] } {
  const plan = new ImportPlan();
  const origin = { text: server.name, place: { file: "" }, scope: "user" } as const;
  takeServer(plan, origin, server.name, { entry: server, without: [] });
  const [step] = plan.steps;
  if (step?.change.kind !== "entry") {
    throw usageError(message`Cannot add the MCP server "${server.name}": ${textOf(plan.left[0]?.why ?? "")}`);
  }
  let text = JSON.stringify(step.change.entry);
  const secrets = plan.keys.map(({ name, value }): LiftedSecret => {
    const variable = freeName(name, server.name, (candidate) => taken(candidate, value));
    text = text.replaceAll(`\${${name}}`, `\${${variable}}`);
    return { variable, value };
  });
  return { entry: JSON.parse(text), secrets };
}

function freeName(name: string, owner: string, taken: (candidate: string) => boolean): string {
  const first = [name, variableName(owner, name)].find((candidate) => !taken(candidate));
  for (let number = 2; first === undefined; number++) {
    const candidate = `${variableName(owner, name)}_${number}`;
    if (!taken(candidate)) return candidate;
  }
  return first;
}

/** Returns the file without a server; undefined when it does not describe one of that name. */
export async function removeServer(path: string, name: string): Promise<FileChange | undefined> {
  const change = path.endsWith(".json") ? await removeFromJson(path, name) : await removeFromToml(path, name);
  return change && change.before !== change.after ? { path, ...change } : undefined;
}

async function removeFromToml(path: string, name: string): Promise<Omit<FileChange, "path">> {
  return await rewriteConfig(path, (table) => {
    const list = Array.isArray(table.plugins) ? table.plugins : [];
    const rest = list.filter((entry) => !isTable(entry) || entry.name !== name);
    if (rest.length > 0) table.plugins = rest;
    else if (list.length > 0) delete (table as TomlTable).plugins;
  });
}

async function removeFromJson(path: string, name: string): Promise<Omit<FileChange, "path"> | undefined> {
  const problems: ConfigProblem[] = [];
  const before = readText(path, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const servers = before === undefined ? undefined : await serversIn(before);
  if (before === undefined || !servers || !Object.hasOwn(servers, name)) return undefined;
  const after = await withoutProperty(before, ["mcpServers", name]);
  const { [name]: _, ...rest } = servers;
  if (after !== undefined && canonicalJson(await serversIn(after)) === canonicalJson(rest)) {
    return { before, after };
  }
  throw new ReasonixError(message`Cannot change ${path} without touching other lines`, {
    exit: "config",
    remedy: message`make the change by hand`,
  });
}

async function serversIn(text: string): Promise<Record<string, unknown> | undefined> {
  const json = await parseJsonc(text);
  const servers = "value" in json && isRecord(json.value) ? json.value.mcpServers : undefined;
  return isRecord(servers) ? servers : undefined;
}

/** The text without a property, its comma and the line that it leaves empty; comments stay. */
async function withoutProperty(text: string, path: string[]): Promise<string | undefined> {
  const { createScanner, findNodeAtLocation, parseTree } = await import("jsonc-parser");
  // A byte order mark is no token of JSON; a blank in its place keeps the offsets.
  const plain = text.replace(/^\uFEFF/, " ");
  const root = parseTree(plain);
  const property = root && findNodeAtLocation(root, path)?.parent;
  if (!property?.parent?.children) return undefined;
  const commaAfter = (offset: number) => {
    const scanner = createScanner(plain, true);
    scanner.setPosition(offset);
    scanner.scan();
    const at = scanner.getTokenOffset();
    return plain[at] === "," ? at : undefined;
  };
  const { children } = property.parent;
  const previous = children[children.indexOf(property) - 1];
  const end = property.offset + property.length;
  const comma = commaAfter(end) ?? (previous && commaAfter(previous.offset + previous.length));
  const cuts = [[property.offset, end], ...(comma === undefined ? [] : [[comma, comma + 1]])]
    .toSorted(([a = 0], [b = 0]) => b - a);
  return cuts.reduce((rest, [from = 0, to = 0]) => {
    const before = rest.slice(0, from);
    const behind = rest.slice(to);
    const emptied = /(?:^|\n)[ \t]*$/.test(before) && /^[ \t]*(?:\r?\n|$)/.test(behind);
    return emptied ? before.replace(/[ \t]*$/, "") + behind.replace(/^[ \t]*\r?\n/, "") : before + behind;
  }, text);
}

/**
 * Adds tools to those of a server that the user trusts to be read-only, or removes them. False where the TOML
 * file does not describe the server.
 */
export async function setTrustedTools(
  path: string,
  server: string,
  { tools, trusted }: { readonly tools: readonly string[]; readonly trusted: boolean },
): Promise<boolean> {
  let found = false;
  const { before, after } = await rewriteConfig(path, (table) => {
    const list = Array.isArray(table.plugins) ? table.plugins : [];
    for (const entry of list) {
      if (!isTable(entry) || entry.name !== server) continue;
      found = true;
      const known = Array.isArray(entry.trusted_read_only_tools) ? entry.trusted_read_only_tools : [];
      const names = trusted
        ? [...new Set([...known, ...tools])]
        : known.filter((name) => !tools.includes(name));
      if (names.length === known.length) continue;
      if (names.length > 0) entry.trusted_read_only_tools = names;
      else delete entry.trusted_read_only_tools;
    }
  });
  if (before !== after) await writeConfig(path, after, {});
  return found;
}
