import {
  argumentsLine,
  type JsonSchema,
  type PreparedCall,
  subjectOf,
  type ToolCall,
  type ToolSchema,
} from "../core/mod.ts";
import { checkArguments } from "./arguments.ts";
import type { BuiltinTool } from "./builtin_tool.ts";
import { patchOfCommand, thirdPartyCall } from "./third_party_calls.ts";
import { type Arguments, isKnownToRead, texts, type Tool } from "./tool.ts";
import { isRecord, recordOf } from "../util/json.ts";
import { suggestNames } from "../util/suggest.ts";
import { attempt } from "../util/lazy.ts";

/** `[tools]` of the configuration, as far as it chooses tools. */
export interface ToolSelection {
  /** Exactly these built-in tools; `"*"` means the usual ones. Absent or empty: the usual ones. */
  readonly enabled?: readonly string[];
  readonly disabled?: readonly string[];
  readonly alias?: Readonly<Record<string, ToolAlias>>;
}

/** The tools of one conversation: what the model is offered, and how its calls find their tool. */
export class ToolRegistry {
  unknown: readonly string[] = [];
  /** Parameters of aliases that their tools do not have. */
  unknownParameters: readonly { readonly alias: string; readonly parameter: string }[] = [];
  /** Finds tools that are never offered and whose names are not known beforehand. */
  strangers: (name: string) => Tool | undefined = () => undefined;
  readonly #own: readonly Tool[];
  readonly #builtins: readonly BuiltinTool[];
  readonly #selection: ToolSelection;
  readonly #tools = new Map<string, Tool>();
  readonly #offers = new Map<string, Offer>();
  #schemas: readonly ToolSchema[] = [];
  #offersLate = false;

  /**
   * Order of the result: `builtins` as listed, then `own` as given, then those of plugins; a name taken twice
   * belongs to the first.
   */
  constructor(builtins: readonly BuiltinTool[], own: readonly Tool[] = [], selection: ToolSelection = {}) {
    this.#builtins = builtins;
    this.#own = own;
    this.#selection = selection;
    this.setPluginTools([]);
  }

  /** Replaces the tools that may change. Calls that were prepared before run with the new tools. */
  setPluginTools(plugins: readonly Tool[]): void {
    const selection = this.#selection;
    const [builtins, extra] = [this.#builtins, [...this.#own, ...plugins]];
    this.#tools.clear();
    this.#offers.clear();
    for (const tool of [...selected(builtins, selection), ...extra]) {
      if (!selection.disabled?.includes(tool.name) && !this.#tools.has(tool.name)) {
        this.#tools.set(tool.name, tool);
      }
    }
    const known = new Set([...builtins, ...extra].map((tool) => tool.name));
    const missing = [...selection.enabled ?? [], ...selection.disabled ?? []]
      .filter((name) => name !== "*" && !known.has(name));
    for (const [name, alias] of Object.entries(selection.alias ?? {})) {
      const target = alias.tool;
      const tool = this.#tools.get(target);
      if (tool && (name === target || !this.#tools.has(name))) {
        this.#offers.set(name, new Offer(tool, name, alias));
      } else if (!known.has(target)) missing.push(target);
    }
    for (const tool of this.#tools.values()) {
      const { alias } = tool;
      const isFree = alias !== undefined && !known.has(alias) && !this.#offers.has(alias);
      if (isFree && this.#offered(tool).name === tool.name) this.#offers.set(alias, new Offer(tool, alias));
    }
    // What plugins bring may come later.
    this.unknown = missing.filter((name) => !name.startsWith("mcp__"));
    this.unknownParameters = [...this.#offers.values()].flatMap(({ name: alias, unknown }) =>
      unknown.map((parameter) => ({ alias, parameter }))
    );
    this.#declare();
  }

  /**
   * Offers the tools of background jobs and tasks, plans and goals as well, behind all others. Until then
   * they cost no tokens; calls that name them work all the same.
   */
  offerLate(): void {
    if (this.#offersLate) return;
    this.#offersLate = true;
    this.#declare();
  }

  /** Reports whether a built-in tool waits for {@linkcode offerLate}, unless the user named it. */
  isLate(name: string): boolean {
    return this.#selection.enabled?.includes(name) !== true &&
      this.#builtins.some((tool) => tool.name === name && tool.late);
  }

  #declare(): void {
    const offered = [...this.#tools.values()].filter(({ offered = true }) => offered);
    const late = offered.filter(({ name }) => this.isLate(name));
    const always = offered.filter((tool) => !late.includes(tool));
    this.#schemas = [...always, ...this.#offersLate ? late : []].map((tool) => this.#offered(tool).declared);
  }

  /** The schemas of a request: the same array, in the same order, until other tools are offered. */
  schemas(): readonly ToolSchema[] {
    return this.#schemas;
  }

  tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name) ?? this.#offers.get(name)?.tool ?? this.#stranger(name);
  }

  /**
   * Finds the tool of a call and checks its arguments.
   *
   * Contract: a string says, for the model, why the call cannot run. Only text that is not JSON takes a
   * promise.
   */
  prepare(call: ToolCall): PreparedCall | string | Promise<PreparedCall | string> {
    const text = call.arguments.trim() === "" ? "{}" : call.arguments;
    try {
      return this.#resolve(call, JSON.parse(text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return repaired(text).then((value) =>
        value === undefined ? unreadable(call, error) : this.#resolve(call, value)
      );
    }
  }

  /** The facts of an earlier call; undefined without such a tool, or when its arguments do not fit. */
  readonly describe = (call: ToolCall): PreparedCall | undefined => {
    const prepared = attempt(() => this.#resolve(call, JSON.parse(call.arguments)));
    return typeof prepared === "string" ? undefined : prepared;
  };

  #resolve(call: ToolCall, value: unknown): PreparedCall | string {
    const offer = this.#offers.get(call.name);
    const tool = offer?.tool ?? this.#tools.get(call.name) ?? this.#stranger(call.name);
    if (!isRecord(value)) return tool ? resolve(call, tool, offer, value) : this.#unknownTool(call.name);
    if (tool?.redirect) return this.#redirected(call, tool, value);
    const thirdParty = tool ? { tool: tool.name, args: value } : thirdPartyCall(call.name, value);
    const meant = tool ?? (thirdParty && this.#tools.get(thirdParty.tool));
    if (!thirdParty || !meant) return this.#unknownTool(call.name);
    const patch = thirdParty.tool === "bash"
      ? patchOfCommand(thirdParty.args.command ?? thirdParty.args.cmd)
      : undefined;
    const patcher = patch === undefined ? undefined : this.#tools.get("apply_patch");
    return patcher
      ? resolve(call, patcher, undefined, { patch })
      : resolve(call, meant, offer, thirdParty.args);
  }

  #stranger(name: string): Tool | undefined {
    return this.#selection.disabled?.includes(name) ? undefined : this.strangers(name);
  }

  /** A call of a redirecting tool becomes a call of the tool that it names. */
  #redirected(call: ToolCall, tool: Tool, value: Record<string, unknown>): PreparedCall | string {
    const checked = checkArguments(tool.schema, value, tool.synonyms);
    if ("problem" in checked) return `Invalid arguments for ${call.name}: ${checked.problem}`;
    const meant = tool.redirect?.(checked.args);
    if (!meant) return resolve(call, tool, this.#offers.get(call.name), value);
    const target = meant.among.includes(meant.tool) ? this.#tools.get(meant.tool) : undefined;
    if (target) return resolve(call, target, undefined, meant.args);
    const near = suggestNames(meant.tool, meant.among, 3);
    return `${call.name} knows no tool "${meant.tool}"` +
      (near.length > 0 ? `; did you mean ${near.join(" or ")}?` : "; search for it first");
  }

  #offered(tool: Tool): Offer {
    const alias = [...this.#offers.values()].find((offer) => offer.tool === tool);
    return alias ?? new Offer(tool);
  }

  #unknownTool(name: string): string {
    const names = this.#schemas.map((schema) => schema.name);
    const near = suggestNames(name, names, 3);
    return near.length > 0
      ? `Unknown tool "${name}"; did you mean ${near.join(" or ")}?`
      : `Unknown tool "${name}"; available: ${names.join(", ")}`;
  }
}

function selected(builtins: readonly BuiltinTool[], selection: ToolSelection): readonly BuiltinTool[] {
  const enabled = selection.enabled ?? [];
  const usual = enabled.length === 0 || enabled.includes("*");
  return builtins.filter((tool) => enabled.includes(tool.name) || (usual && !tool.optional));
}

function resolve(
  call: ToolCall,
  tool: Tool,
  offer: Offer = new Offer(tool),
  value: unknown = {},
): PreparedCall | string {
  const given = tool.translate && !offer.exact && isRecord(value) ? tool.translate(value) : value;
  const { schema, exact, synonyms } = offer;
  const checked = checkArguments(schema, given, { synonyms, exact, unoffered: exact ? {} : tool.unoffered });
  if ("problem" in checked) return `Invalid arguments for ${call.name}: ${checked.problem}`;
  const prepared = preparedCall(call, tool, offer.own(checked.args));
  const strange = [...prepared.reads, ...prepared.writes ?? []].find(hasMark);
  return strange === undefined
    ? prepared
    : `Invalid arguments for ${call.name}: the path ${JSON.stringify(strange)} has a control character`;
}

/** Permission rules use these characters for the unknown parts of a command; no path may have them. */
function hasMark(path: string): boolean {
  return [...path].some((char) => char <= "\x04");
}

function unreadable({ name, arguments: text }: ToolCall, { message }: SyntaxError): string {
  return /^\s*[%<]/.test(text)
    ? `Not executed: the model wrote a call of ${name} that cannot be read; the next message shows the form`
    : `Arguments of ${name} are not valid JSON: ${message}; send the call again`;
}

/**
 * JSON as models break it (single quotes, trailing commas, cut-off brackets), when the repair gives an
 * object.
 */
async function repaired(text: string): Promise<unknown> {
  if (!text.trimStart().startsWith("{") || !text.trimEnd().endsWith("}")) return undefined;
  const { jsonrepair } = await import("jsonrepair");
  return attempt(() => JSON.parse(jsonrepair(text)));
}

export interface ToolAlias {
  readonly tool: string;
  /** The tool's argument name for each offered one. */
  readonly args?: Readonly<Record<string, string>>;
  /**
   * Exactly the offered arguments, in this order, `?` behind optional ones; a 0 is a 0 then. Absent or empty:
   * all of the tool.
   */
  readonly parameters?: readonly string[];
  readonly description?: string;
}

/** A tool as the model is offered it, and as its calls are read. */
export class Offer {
  readonly tool: Tool;
  readonly name: string;
  readonly schema: JsonSchema;
  readonly description: string;
  /** Only the declared arguments are accepted. */
  readonly exact: boolean;
  readonly unknown: readonly string[];
  readonly #names: Readonly<Record<string, string>>;

  constructor(tool: Tool, name: string = tool.name, alias: Omit<ToolAlias, "tool"> = {}) {
    this.tool = tool;
    this.name = name;
    this.description = alias.description || tool.description;
    this.#names = alias.args ?? {};
    const wanted = alias.parameters ?? [];
    this.exact = wanted.length > 0;
    const all = this.#renamed(tool.schema);
    const more = this.exact ? this.#renamed({ properties: tool.unoffered ?? {} }) : {};
    const known = { ...recordOf(more.properties), ...recordOf(all.properties) };
    this.unknown = wanted.map(bare).filter((one) => !Object.hasOwn(known, one));
    this.schema = this.exact ? signature(all, known, wanted) : all;
  }

  get declared(): ToolSchema {
    return { name: this.name, description: this.description, parameters: this.schema };
  }

  /** Synonyms of the tool, and its argument names where others are offered; null: the argument is dropped. */
  get synonyms(): Record<string, string | null> {
    const offered = inverse(this.#names);
    const synonyms = Object.entries(this.tool.synonyms ?? {}).map(([name, ours]): [string, string | null] => [
      name,
      ours === null ? null : offered.get(ours) ?? ours,
    ]);
    return Object.fromEntries([...synonyms, ...offered]);
  }

  /** Arguments by the tool's own names. */
  own(args: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(args).map(([name, one]) => [this.#names[name] ?? name, one]));
  }

  #renamed(schema: JsonSchema): JsonSchema {
    const offered = inverse(this.#names);
    if (offered.size === 0) return schema;
    const rename = (name: string) => offered.get(name) ?? name;
    return {
      ...schema,
      properties: Object.fromEntries(
        Object.entries(recordOf(schema.properties)).map(([name, value]) => [rename(name), value]),
      ),
      ...(Array.isArray(schema.required) ? { required: schema.required.map(rename) } : {}),
    };
  }
}

function signature(
  schema: JsonSchema,
  known: Readonly<Record<string, unknown>>,
  wanted: readonly string[],
): JsonSchema {
  const needed = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const named = wanted.filter((one) => Object.hasOwn(known, bare(one)));
  const must = named.filter((one) => !one.endsWith("?"));
  const names = new Set([...needed.filter((name) => !named.map(bare).includes(name)), ...named.map(bare)]);
  return {
    type: "object",
    properties: Object.fromEntries([...names].map((name) => [name, known[name]])),
    required: [...names].filter((name) => needed.includes(name) || must.includes(name)),
    additionalProperties: false,
  };
}

function bare(parameter: string): string {
  return parameter.replace(/\?$/, "");
}

function inverse(names: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(names).map(([theirs, ours]) => [ours, theirs]));
}

/** Fills in a tool's declarations about one call; nothing else reads them. */
export function preparedCall(call: ToolCall, tool: Tool, args: Record<string, unknown>): PreparedCall {
  const { family, delegates, runsIn = "main" } = tool;
  const limits = tool.limits?.(args);
  const readOnly = isKnownToRead(tool) && limits?.readOnly !== false;
  const writes = tool.writes?.(args) ?? (readOnly || tool.readsNetwork ? [] : undefined);
  const command = tool.command?.(args);
  const alwaysAsk = tool.alwaysAsk?.(args);
  const facts = {
    reads: tool.reads?.(args) ?? [],
    subjects: tool.subjects?.(args) ?? (declaresNothing(tool) ? allTexts(args) : []),
    ...(writes ? { writes } : {}),
    ...(command ? { command } : {}),
  };
  return {
    call,
    tool: tool.name,
    args,
    title: tool.title?.(args) ?? `${tool.name} ${subjectOf(facts) || argumentsLine(call.arguments)}`,
    readOnly,
    planSafe: readOnly && tool.planSafe !== false && limits?.planSafe !== false,
    runsIn,
    ...facts,
    ...(family === "Mcp" && tool.readOnly && !readOnly ? { claimsToRead: true } : {}),
    ...(family ? { family } : {}),
    ...(tool.declared ? { declared: tool.declared(args) } : {}),
    ...(tool.readsNetwork ? { readsNetwork: true } : {}),
    ...(tool.server ? { server: tool.server(args) } : {}),
    ...(delegates ? { delegates } : {}),
    ...(alwaysAsk === undefined ? {} : { alwaysAsk }),
  };
}

function declaresNothing(tool: Tool): boolean {
  return !tool.reads && !tool.writes && !tool.command;
}

function allTexts(args: Arguments): string[] {
  return texts(...Object.values(args).flat());
}
