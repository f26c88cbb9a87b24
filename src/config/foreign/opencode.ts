import { clausesOf, message, type Text } from "../../core/mod.ts";
import type { ProviderTable } from "../edit/edit.ts";
import { items, left, type Mapping, type Plan, planned, type SourceDocument, table } from "./document.ts";
import { type ImportPlan, type Origin, safeHeaders, safeText, variableName } from "./plan.ts";
import { formatKey, type KeyPath } from "../problem.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../vendors.ts";
import { isFault, readRule } from "../../rule/mod.ts";
import { mapValues } from "../../util/json.ts";

const SETTINGS: Mapping = {
  $schema: planned,
  provider: table(),
  providers: table(),
  model: planned,
  mcp: table(planServers),
  tools: table(planTools),
  permission: planned,
  permissions: planned,
  instructions: items("instructions", (text, { scope }) => {
    if (/^https?:/.test(text)) return message`instructions are files, not addresses`;
    return scope === "user" && !/^[~/]/.test(text) ? message`it counts from each project` : undefined;
  }),
  agent: files("agents", agentFile),
  agents: files("agents", agentFile),
  command: files("commands", commandFile),
  commands: files("commands", commandFile),
  plugin: left(() => message`programs for opencode do not run here`),
  plugins: left(() => message`programs for opencode do not run here`),
  small_model: left(() =>
    message`summaries are written by the main model unless compaction.summary_model names one`
  ),
};

export async function planOpencode(documents: readonly SourceDocument[]): Promise<void> {
  for (const document of documents) {
    planModels(document);
    planPermissions(document);
    await document.apply(SETTINGS);
  }
}

function planModels(document: SourceDocument): void {
  const { plan, table } = document;
  const section = isTable(table.providers) ? "providers" : "provider";
  const tables = tableOf(table[section]);
  const [, chosen = "", model = ""] = /^([^/]+)\/(.+)$/.exec(String(table.model ?? "")) ?? [];
  const written = new Set<string>();
  for (const name of new Set([...Object.keys(tables), ...(chosen === "" ? [] : [chosen])])) {
    const settings = isTable(tables[name]) ? tables[name] : undefined;
    const origin = settings ? document.origin([section, name]) : document.origin(["model"], table.model);
    const planned = providerEntry(plan, origin, {
      name,
      settings: settings ?? {},
      model: name === chosen ? model : "",
    });
    if ("why" in planned) {
      plan.leave(origin, planned.why);
      continue;
    }
    plan.take(origin, { kind: "entry", list: "providers", entry: planned.entry }, planned.note);
    written.add(name);
  }
  if (table.model === undefined) return;
  const origin = document.origin(["model"], table.model);
  if (written.has(chosen)) plan.take(origin, { kind: "set", key: "default_model", value: table.model });
  else plan.leave(origin, message`its provider is not taken over`);
}

function providerEntry(
  plan: ImportPlan,
  origin: Origin,
  { name, settings, model }: { readonly name: string; readonly settings: TomlTable; readonly model: string },
): { readonly entry: ProviderTable; readonly note?: Text } | { readonly why: Text } {
  const options = [settings.options, settings.settings].find(isTable) ?? {};
  const vendor = VENDORS.find((candidate) => candidate.name === (ALIASES[name] ?? name));
  const adapter = String(settings.npm ?? settings.package ?? "");
  const url = options.baseURL ?? settings.api;
  if (typeof url !== "string") {
    if (!vendor) return { why: message`it has no address` };
  } else if (adapter !== "" && !/openai(?:-compatible)?$/.test(adapter)) {
    return {
      why: message`it speaks through ${adapter}; only OpenAI-compatible servers are there`,
    };
  }
  const described = tableOf(settings.models);
  const models = [...new Set([...(model === "" ? [] : [model]), ...Object.keys(described)])];
  if (models.length === 0) {
    return { why: message`no model of it is named; \`reasonix setup\` lists them` };
  }
  const owner = { plan, origin, name };
  const { context_window: _, models: __, default: ___, ...known } = vendor && typeof url !== "string"
    ? vendorEntry(vendor)
    : {} as TomlTable;
  const key = keyName(owner, { options, settings, known: vendor?.keyName });
  const headers = safeHeaders(mapValues(tableOf(options.headers), variables), owner);
  const entry = {
    ...known,
    name,
    ...(typeof url === "string" ? { base_url: safeText(variables(url), owner) } : {}),
    models,
    default: models[0],
    ...(key === undefined ? {} : { api_key_env: key }),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(models[0] === vendor?.models[0] && vendor?.window ? { context_window: vendor.window } : {}),
    ...windowOf(described, models),
  };
  const isChat = /\/openai$/.test(adapter) && known.kind === undefined;
  return { entry, ...(isChat ? { note: message`asked for chat completions, not responses` } : {}) };
}

const ALIASES: Readonly<Record<string, string>> = {
  moonshotai: "moonshot",
  zhipuai: "zhipu",
};

function keyName(
  { plan, origin, name }: { readonly plan: ImportPlan; readonly origin: Origin; readonly name: string },
  { options: { apiKey }, settings, known }: {
    readonly options: TomlTable;
    readonly settings: TomlTable;
    readonly known: string | undefined;
  },
): string | undefined {
  if (typeof apiKey !== "string" || apiKey === "") {
    const listed = Array.isArray(settings.env)
      ? settings.env.find((item) => typeof item === "string")
      : undefined;
    return listed ?? known;
  }
  const reference = /^\{env:(\w+)\}$/.exec(apiKey)?.[1];
  if (reference !== undefined) return reference;
  const wanted = known ?? variableName(name, "api_key");
  const file = /^\{file:(.+)\}$/.exec(apiKey)?.[1];
  if (file === undefined) return plan.key({ name: wanted, value: apiKey, origin }, variableName(name, "key"));
  plan.notices.push(message`Put the content of ${file} into .env as ${wanted}`);
  return wanted;
}

/** The smallest known window of the models, so that none of them overflows. */
function windowOf(described: TomlTable, models: readonly string[]): TomlTable {
  const windows = models.map((model) => described[model]).flatMap((model) => {
    const limit = isTable(model) && isTable(model.limit) ? model.limit.context : undefined;
    return typeof limit === "number" && limit > 0 ? [limit] : [];
  });
  return windows.length > 0 ? { context_window: Math.min(...windows) } : {};
}

function planServers(document: SourceDocument, mcp: TomlTable, path: KeyPath): void {
  const { servers } = mcp;
  const isNested = isTable(servers) && !("type" in servers) && !("command" in servers);
  document.servers(isNested ? servers : mcp, isNested ? [...path, "servers"] : path, (server) => {
    const { type, url, cwd } = server;
    if ([type, server.command, url].every((value) => value === undefined)) return undefined;
    const [command, ...args] = Array.isArray(server.command) ? server.command.map(variables) : [];
    return {
      entry: {
        ...{ type, command, args, cwd },
        env: mapValues(tableOf(server.environment), variables),
        url: typeof url === "string" ? variables(url) : undefined,
        headers: mapValues(tableOf(server.headers), variables),
        enabled: server.enabled !== false && server.disabled !== true,
      },
      without: [
        ...(typeof server.timeout === "number" ? [`timeout ${server.timeout}`] : []),
        ...(server.oauth !== undefined && server.oauth !== false ? ["oauth"] : []),
      ],
    };
  });
}

/** `{env:NAME}` → `${NAME}`. */
function variables(value: unknown): string {
  return String(value).replace(/\{env:(\w+)\}/g, "${$1}");
}

type Answer = "allow" | "ask" | "deny";

/** One line of opencode's permissions. The last one that matches a call decides there. */
interface Line {
  readonly tool: string;
  readonly pattern: string;
  readonly answer: Answer;
  readonly origin: Origin;
}

/** Families of rules by opencode's names; what else it has goes by the name of a tool. */
const SUBJECTS: Readonly<Record<string, string>> = {
  bash: "Bash",
  shell: "Bash",
  edit: "Edit",
  write: "Edit",
  patch: "Edit",
  read: "Read",
  grep: "grep",
  glob: "glob",
  list: "ls",
  webfetch: "WebFetch",
  websearch: "WebSearch",
  task: "Task",
  subagent: "Task",
  skill: "skill",
};

const STRICTNESS: readonly Answer[] = ["allow", "ask", "deny"];
const READERS = ["Read", "grep", "glob", "ls"];

function rank(answer: Answer): number {
  return STRICTNESS.indexOf(answer);
}

/** The answer of a family for everything, and the exceptions that follow it. */
interface Family {
  readonly subject: string;
  readonly base: Answer;
  readonly line: Line | undefined;
  readonly exceptions: readonly Line[];
  /** A rule for the whole family would override an exception that is laxer. */
  readonly hides: boolean;
}

function familyOf(subject: string, lines: readonly Line[], general: Answer | undefined): Family {
  const at = lines.findLastIndex(({ pattern }) => pattern === "*" || pattern === "**");
  const base = lines[at]?.answer ?? general ?? (READERS.includes(subject) ? "allow" : "ask");
  const exceptions = lines.slice(at + 1);
  const hides = exceptions.some(({ answer }) => rank(answer) < rank(base));
  return { subject, base, line: lines[at], exceptions, hides };
}

/**
 * Plans the permissions. In opencode the last match decides; here deny goes before ask, and ask before allow.
 * A family with exceptions laxer than its base needs `permissions.mode`.
 */
function planPermissions(document: SourceDocument): void {
  const { plan } = document;
  const lines = linesOf(document);
  const general = lines.findLast(({ tool }) => tool === "*");
  const bySubject = new Map<string, Line[]>();
  for (const line of lines) {
    if (line.tool === "*") continue;
    const subject = SUBJECTS[line.tool];
    if (subject === undefined) plan.leave(line.origin, message`it has no counterpart`);
    else bySubject.set(subject, [...bySubject.get(subject) ?? [], line]);
  }
  const families = [...bySubject].map(([subject, all]) => familyOf(subject, all, general?.answer));
  const strictest = families.filter(({ subject, hides }) => hides && !READERS.includes(subject))
    .toSorted((a, b) => rank(b.base) - rank(a.base))[0];
  const mode = [strictest?.base, general?.answer].filter((answer) => answer !== undefined)
    .toSorted((a, b) => rank(b) - rank(a))[0] ?? "ask";
  const modeLine = strictest?.line ?? general;
  const setMode = ({ origin }: Line) =>
    plan.take(origin, { kind: "set", key: "permissions.mode", value: mode });
  if (modeLine) setMode(modeLine);
  for (const { subject, base, line, exceptions, hides } of families) {
    const byMode = base === mode && (base === "ask" || hides);
    if (line && byMode && line !== modeLine) setMode(line);
    else if (line && !byMode && !(READERS.includes(subject) && base === "allow")) {
      takeRule(
        plan,
        line,
        subject,
        hides ? "stricter: it goes before the allowances for single ones" : undefined,
      );
    }
    exceptions.forEach((exception, index) => {
      const overruled = exceptions.slice(index + 1).some(({ answer }) =>
        rank(answer) < rank(exception.answer)
      );
      takeException(plan, subject, exception, overruled);
    });
  }
  // Families without a line keep their answer where the mode would give another one.
  const silent = general?.answer ?? "ask";
  for (const subject of modeLine && silent !== mode ? ["Bash", "Edit"] : []) {
    if (!modeLine || families.some((family) => family.subject === subject && family.line)) continue;
    const note = message`nothing else is said of it, and the mode would ${mode} it`;
    plan.take(modeLine.origin, { kind: "item", key: `permissions.${silent}`, item: subject }, note);
  }
}

function takeException(plan: ImportPlan, subject: string, line: Line, overruled: boolean): void {
  const { answer, pattern, origin } = line;
  if (READERS.includes(subject) && answer === "allow") {
    return plan.leave(origin, message`reading needs no rule here, and a refusal goes before an allowance`);
  }
  const isPath = subject === "Edit" || READERS.includes(subject);
  const rule = `${subject}(${isPath ? pathGlob(pattern) : pattern})`;
  const read = readRule(rule);
  if (isFault(read)) return plan.leave(origin, read.texts.message);
  const note = overruled ? message`stricter: ${answer} goes before what follows it there` : undefined;
  takeRule(plan, line, rule, note);
}

/** Brackets and braces are plain characters there. */
function pathGlob(pattern: string): string {
  return pattern.replace(/^\$HOME(?=\/|$)/, "~").replace(/[[\]{}\\]/g, "\\$&").replace(/^\/(?!\/)/, "//");
}

function takeRule(plan: ImportPlan, { answer, origin }: Line, item: string, note?: Text): void {
  plan.take(origin, { kind: "item", key: `permissions.${answer}`, item }, note);
}

function linesOf(document: SourceDocument): Line[] {
  const { permission, permissions } = document.table;
  const lines: Line[] = [];
  const add = (path: KeyPath, tool: string, pattern: string, value: unknown) => {
    const answer = answerOf(value);
    const origin = document.origin(path, answer ?? value);
    if (answer && (tool !== "*" || pattern === "*")) lines.push({ tool, pattern, answer, origin });
    else if (answer) document.plan.leave(origin, message`it has no counterpart`);
    else document.plan.leave(origin, message`it is none of allow, ask and deny`);
  };
  if (Array.isArray(permissions)) {
    permissions.forEach((item: unknown, index) => {
      const path = ["permissions", index];
      if (!isTable(item)) return document.leave(path, message`it is no permission`, item);
      const { action, permission = "*", resource, pattern = "*", effect } = item;
      add(path, String(action ?? permission), String(resource ?? pattern), effect);
    });
    return lines;
  }
  if (answerOf(permission)) add(["permission"], "*", "*", permission);
  for (const [tool, value] of Object.entries(tableOf(permission))) {
    const path = ["permission", tool];
    if (!isTable(value)) add(path, tool, "*", value);
    else {for (const [pattern, answer] of Object.entries(value)) {
        add([...path, pattern], tool, pattern, answer);
      }}
  }
  return lines;
}

function answerOf(value: unknown): Answer | undefined {
  return STRICTNESS.find((answer) => answer === value);
}

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  bash: ["bash"],
  edit: ["edit_file", "multi_edit", "apply_patch"],
  write: ["write_file"],
  read: ["read_file"],
  grep: ["grep"],
  glob: ["glob"],
  list: ["ls"],
  patch: ["apply_patch"],
  webfetch: ["web_fetch"],
  websearch: ["web_search"],
  task: ["task"],
  skill: ["skill"],
  todowrite: ["todo_write"],
  todoread: ["todo_read"],
};

/** Returns the strictest of several answers; what is none of them counts as a refusal. */
function strictest(answers: readonly unknown[]): Answer {
  return STRICTNESS[Math.max(...answers.map((answer) => rank(answerOf(answer) ?? "deny")))] ?? "deny";
}

/** The older switches of single tools. */
function planTools(document: SourceDocument, tools: TomlTable): void {
  for (const [name, on] of Object.entries(tools)) {
    const path = ["tools", name];
    const names = TOOLS[name];
    if (on !== false) document.leave(path, message`usual tools are on`, on);
    else if (!names) document.leave(path, message`there is no such tool`, on);
    else names.forEach((item) => document.add(path, "tools.disabled", item, { shown: on }));
  }
}

/** Names that are fit for a file. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]{0,63}$/u;

function files(directory: "agents" | "commands", describe: (entry: TomlTable) => Made): Plan {
  return (document, entries, path) => {
    for (const [name, entry] of Object.entries(tableOf(entries))) {
      const origin = document.origin([...path, name]);
      const made = !NAME.test(name)
        ? { why: message`its name is no name of a file` }
        : isTable(entry)
        ? describe(entry)
        : { why: message`it is no table` };
      if ("why" in made) document.plan.leave(origin, made.why);
      else {
        const note = made.notes.length > 0 ? clausesOf(made.notes) : undefined;
        document.plan.take(origin, { kind: "file", path: `${directory}/${name}.md`, text: made.text }, note);
      }
    }
  };
}

type Made =
  | { readonly text: string; readonly notes: readonly Text[] }
  | { readonly why: Text };

/** Fields of an agent that are looked at one by one, or that only its looks depend on. */
const AGENT_FIELDS = ("description mode model prompt temperature top_p steps " +
  "maxSteps tools permission disable hidden color name").split(" ");

function agentFile(agent: TomlTable): Made {
  const { description = "", model, prompt = "", temperature, top_p, tools, permission } = agent;
  const why = String(agent.disable) === "true"
    ? message`it is switched off there`
    : agent.mode === "primary"
    ? message`it is for whole conversations; agents here work on parts of a task`
    : description === ""
    ? message`it has no description`
    : /\{(?:file|env):/.test(String(prompt))
    ? message`its prompt is in another file`
    : undefined;
  if (why) return { why };
  const rights = rightsOf(tableOf(tools), permission);
  if ("why" in rights) return rights;
  const fields = {
    ...{ description, model, temperature, top_p, max_steps: agent.steps ?? agent.maxSteps },
    ...{ tools: rights.tools, disallowedTools: rights.without, permission: rights.permission },
  };
  return {
    text: markdown(fields, String(prompt)),
    notes: [...rights.notes, ...without(agent, AGENT_FIELDS)],
  };
}

interface Rights {
  readonly tools: string;
  readonly without: string;
  readonly permission: Readonly<Record<string, string>>;
  readonly notes: readonly Text[];
}

/** Families of rules that a file of ours can name, and tools that it can only leave out. */
const FAMILIES = ["edit", "bash", "read", "task"];
const CHANGES = ["write", "edit", "patch"];

/** Returns the restrictions of an agent, never fewer than there; a reason when one has no counterpart. */
function rightsOf(tools: TomlTable, given: unknown): Rights | { readonly why: Text } {
  const switches = Object.entries(tools).map(([name, on]) => [name, String(on) !== "false"] as const);
  const rules: TomlTable = isTable(given) ? given : given === undefined ? {} : { "*": given };
  const answers = new Map<string, Answer>(
    Object.entries(rules).map((
      [name, value],
    ) => [name, strictest(isTable(value) ? Object.values(value) : [value])]),
  );
  const general = answers.get("*") ?? "allow";
  answers.delete("*");
  for (const name of [...FAMILIES, "webfetch", "websearch"]) {
    if (!answers.has(name)) answers.set(name, general);
  }
  const onlySome = switches.some(([name, on]) => name === "*" && !on);
  const off = switches.filter(([name, on]) => !on && name !== "*").map(([name]) => name);
  const listed = onlySome ? switches.filter(([, on]) => on).map(([name]) => name) : [];
  const refused = [...answers].filter(([name, answer]) => answer !== "allow" && !FAMILIES.includes(name));
  const named = [...off, ...listed, ...refused.map(([name]) => name)];
  const unknown = named.find((name) => !CHANGES.includes(name) && !Object.hasOwn(TOOLS, name));
  if (unknown !== undefined) return { why: message`nothing here corresponds to ${formatKey([unknown])}` };
  if (onlySome && listed.length === 0) return { why: message`it has no tools` };
  if (off.some((name) => CHANGES.includes(name))) answers.set("edit", "deny");
  const names = (list: readonly string[]) =>
    [...new Set(list.flatMap((name) => TOOLS[name] ?? []))].join(", ");
  const patterns = Object.values(rules).some((value) =>
    isTable(value) && new Set(Object.values(value)).size > 1
  );
  return {
    tools: names(listed),
    without: names([...off.filter((name) => !CHANGES.includes(name)), ...refused.map(([name]) => name)]),
    permission: Object.fromEntries(
      FAMILIES.flatMap((name) => {
        const answer = answers.get(name) ?? "allow";
        return answer === "allow" ? [] : [[name, answer]];
      }),
    ),
    notes: [
      ...(patterns ? [message`stricter: one answer counts for the whole family`] : []),
      ...(refused.some(([, answer]) => answer === "ask")
        ? [message`stricter: it does not have what it asks about`]
        : []),
    ],
  };
}

function commandFile(command: TomlTable): Made {
  const { template, description, model } = command;
  if (typeof template !== "string" || template.trim() === "") return { why: message`it has no text to send` };
  return {
    text: markdown({ description, model }, template),
    notes: without(command, ["template", "description", "model", "name"]),
  };
}

function without(entry: TomlTable, known: readonly string[]): Text[] {
  return Object.keys(entry).filter((key) => !known.includes(key) && String(entry[key]) !== "false").map((
    key,
  ) => message`without ${key}`);
}

/** A Markdown file with the fields that say something. */
function markdown(fields: Readonly<Record<string, unknown>>, body: string): string {
  const lines = Object.entries(fields).flatMap(([key, value]) => {
    if (value === undefined || value === "") return [];
    if (!isTable(value)) return [`${key}: ${scalar(value)}`];
    const items = Object.entries(value).map(([name, item]) => `${name}: ${scalar(item)}`);
    return items.length > 0 ? [`${key}: { ${items.join(", ")} }`] : [];
  });
  const head = lines.length > 0 ? `---\n${lines.join("\n")}\n---\n` : "";
  return [head, body.trim() === "" ? "" : `${body.trim()}\n`].filter((part) => part !== "").join("\n");
}

/** A value on one line, in quotes where it is not one plain word or list of words. */
function scalar(value: unknown): string {
  // deno-lint-ignore no-control-regex
  const text = String(value).replace(/[\s\x00-\x1f\x7f]+/g, " ").trim();
  return /^[\w./-]+(?:, [\w./-]+)*$/.test(text) ? text : JSON.stringify(text);
}
