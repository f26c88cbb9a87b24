import { message, withRemedy } from "../../core/mod.ts";
import { suggestNames } from "../../util/suggest.ts";
import { isFault, lintRule, MAX_WEIGHT, readRule, ruleWeight } from "../../rule/mod.ts";
import { effortLevels } from "../query/models.ts";
import type { Finding } from "./check.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** Checks what types alone cannot say: entries must be told apart, and name what they need. */
export function checkEntries(table: TomlTable): Finding[] {
  return [
    ...checkList(table, "providers", checkProvider),
    ...checkList(table, "plugins", checkPlugin),
    ...checkPermissions(table.permissions),
    ...checkDangerous(table.safety),
  ];
}

/**
 * A rule that restricts must not look as if it did when it does nothing; one that allows only leaves a
 * question standing.
 */
function checkPermissions(permissions: unknown): Finding[] {
  if (!isTable(permissions)) return [];
  let weight = 0;
  return (["deny", "ask", "allow"] as const).flatMap((list) => {
    const rules = permissions[list];
    return Array.isArray(rules)
      ? rules.flatMap((rule, index) => {
        const own = ruleWeight(rule);
        const before = weight;
        weight += own;
        if (own === 0 || weight <= MAX_WEIGHT) return checkRule(rule, list, index);
        return before <= MAX_WEIGHT ? [tooManyRules(["permissions", list, index])] : [];
      })
      : [];
  });
}

function tooManyRules(path: KeyPath): Finding {
  return {
    level: "error",
    path,
    at: "value",
    ...withRemedy(
      message`Cannot hold the permission rules of this file: their wildcards and braces stand for too much`,
      message`write fewer rules, or wildcards in place of braces`,
    ),
  };
}

/** Only rules about commands can be confirmed this way. */
function checkDangerous(safety: unknown): Finding[] {
  const rules = isTable(safety) && Array.isArray(safety.dangerous) ? safety.dangerous : [];
  return rules.flatMap((rule, index): Finding[] => {
    const read = typeof rule === "string" ? readRule(rule) : undefined;
    if (!read) return [];
    const path = ["safety", "dangerous", index];
    if (isFault(read)) {
      return [{ level: "error", path, at: "value", message: read.message, remedy: read.remedy }];
    }
    if ("family" in read.target && read.target.family === "Bash") return [];
    const example = 'dangerous = ["Bash(kubectl delete:*)"]';
    return [{
      level: "error",
      path,
      at: "value",
      ...withRemedy(
        message`Cannot use ${JSON.stringify(rule)} for ${formatKey(path)}: it is no rule about commands`,
        message`write for example ${example}`,
      ),
    }];
  });
}

function checkRule(rule: unknown, list: "deny" | "ask" | "allow", index: number): Finding[] {
  const read = typeof rule === "string" ? readRule(rule) : undefined;
  if (!read) return [];
  const path = ["permissions", list, index];
  if (!isFault(read)) {
    const remark = lintRule(read);
    return remark ? [{ level: "warning", path, at: "value", ...remark }] : [];
  }
  const { message, remedy, isTooWide } = read;
  return list === "allow" && !isTooWide
    ? [{ level: "warning", path, at: "value", message: `${message}; it allows nothing`, remedy }]
    : [{ level: "error", path, at: "value", message, remedy }];
}

type EntryCheck = (entry: TomlTable, path: KeyPath) => Finding[];

function checkList(table: TomlTable, list: string, check: EntryCheck): Finding[] {
  const entries = table[list];
  if (!Array.isArray(entries)) return [];
  const seen = new Set<unknown>();
  return entries.flatMap((entry, index) => {
    if (!isTable(entry)) return [];
    const path = [list, index];
    const repeated = seen.has(entry.name);
    seen.add(entry.name);
    const findings = check(entry, path);
    return repeated ? [...findings, duplicate(path, entry.name)] : findings;
  });
}

function duplicate(path: KeyPath, name: unknown): Finding {
  return {
    level: "error",
    path: [...path, "name"],
    at: "value",
    ...withRemedy(
      message`Cannot use the name ${JSON.stringify(name)} twice in ${formatKey(path.slice(0, 1))}`,
      message`rename one of the entries, or remove it`,
    ),
  };
}

function checkProvider(entry: TomlTable, path: KeyPath): Finding[] {
  return [
    ...checkDefault(entry, path),
    ...checkKeyCommand(entry.api_key_command, path),
    ...checkEfforts(entry, path),
    ...checkTextCalls(entry, path),
  ];
}

/** The older way still works, but helps less than the one that took its place. */
function checkTextCalls({ compat }: TomlTable, path: KeyPath): Finding[] {
  if (!isTable(compat) || compat.text_calls !== true) return [];
  const here = [...path, "compat", "text_calls"];
  return [{
    level: "warning",
    path: here,
    at: "key",
    ...withRemedy(
      message`${formatKey(here)} is deprecated; it only reads calls that the model writes by itself`,
      message`set tool_mode = "pseudo" of this entry, which also tells the model how to write them`,
    ),
  }];
}

function checkKeyCommand(command: unknown, path: KeyPath): Finding[] {
  const isLine = typeof command === "string";
  const isList = Array.isArray(command) && command.length > 0 &&
    command.every((word) => typeof word === "string") && command[0] !== "";
  if (command === undefined || isLine || isList) return [];
  const here = [...path, "api_key_command"];
  const line = 'api_key_command = "pass show my-key"';
  return [{
    level: "error",
    path: here,
    at: "value",
    ...withRemedy(
      message`Cannot use this value for ${
        formatKey(here)
      }: a line of the shell, or a program with arguments as an array of texts, is expected`,
      message`write for example ${line}`,
    ),
  }];
}

/** An effort is a level that people know, or a word of the vendor's own that the model is said to take. */
function checkEfforts(entry: TomlTable, path: KeyPath): Finding[] {
  const models = isTable(entry.model_settings) ? Object.entries(entry.model_settings) : [];
  const own = models.flatMap(([name, settings]) =>
    isTable(settings)
      ? checkEffort({ efforts: entry.efforts, ...settings }, [...path, "model_settings", name])
      : []
  );
  return [...checkEffort(entry, path), ...own];
}

function checkEffort({ effort, efforts }: TomlTable, path: KeyPath): Finding[] {
  const words = Array.isArray(efforts) ? efforts.filter((word) => typeof word === "string") : [];
  const levels = effortLevels(words);
  if (typeof effort !== "string" || effort === "" || levels.includes(effort)) return [];
  const near = suggestNames(effort, levels, 1)[0];
  return [{
    level: "error",
    path: [...path, "effort"],
    at: "value",
    ...withRemedy(
      message`Cannot use ${JSON.stringify(effort)} as effort: the levels are ${levels}`,
      near
        ? message`did you mean "${near}"?`
        : message`use one of them, or name the vendor's own levels: efforts = ["${effort}"]`,
    ),
  }];
}

function checkDefault(entry: TomlTable, path: KeyPath): Finding[] {
  const models = Array.isArray(entry.models) ? entry.models.filter((model) => typeof model === "string") : [];
  if (typeof entry.model === "string") models.push(entry.model);
  const chosen = entry.default;
  if (typeof chosen !== "string" || models.length === 0 || models.includes(chosen)) return [];
  const near = suggestNames(chosen, models, 1)[0] ?? models[0];
  return [{
    level: "error",
    path: [...path, "default"],
    at: "value",
    message: `Cannot use ${JSON.stringify(chosen)} as default: it is not among the models of this entry`,
    remedy: `add it to models, or write default = ${JSON.stringify(near)}`,
  }];
}

const REMOTE_TYPES: readonly unknown[] = ["http", "streamable-http", "sse"];

/** What a server cannot have that the model's provider speaks to: nothing of it happens here. */
const ONLY_DIRECT = ["command", "headers_helper", "oauth"];

function checkTransport(entry: TomlTable, path: KeyPath): Finding[] {
  if (entry.transport !== "provider") return [];
  const name = JSON.stringify(entry.name);
  if (!REMOTE_TYPES.includes(entry.type)) {
    return [{
      level: "error",
      path: [...path, "transport"],
      at: "value",
      message: `Cannot use transport = "provider" for the plugin ${name}: it is a program on this machine`,
      remedy: 'give it type = "http" and url = "https://…", or take the line out',
    }];
  }
  return ONLY_DIRECT.filter((key) => entry[key] !== undefined && entry[key] !== "").map((key) => ({
    level: "error",
    path: [...path, key],
    at: "key",
    message: `Cannot use ${key} for the plugin ${name}: with transport = "provider" nothing runs here`,
    remedy: "put what the server wants into headers, or take the transport line out",
  }));
}

function checkPlugin(entry: TomlTable, path: KeyPath): Finding[] {
  return [...checkTransport(entry, path), ...checkNeeds(entry, path)];
}

function checkNeeds(entry: TomlTable, path: KeyPath): Finding[] {
  const remote = REMOTE_TYPES.includes(entry.type);
  // A type that does not exist has been reported already.
  if (entry.enabled === false || (!remote && (entry.type ?? "stdio") !== "stdio")) return [];
  const needed = remote ? "url" : "command";
  if (entry[needed]) return [];
  // An address without a type is the usual slip, so it gets its own advice.
  const remedy = !remote && entry.url
    ? 'add type = "http" for a server with an address'
    : remote
    ? 'add a line such as url = "https://…"'
    : 'add a line such as command = "npx"';
  return [{
    level: "error",
    path,
    at: "key",
    message: `The plugin ${JSON.stringify(entry.name)} has no ${needed}`,
    remedy,
  }];
}
