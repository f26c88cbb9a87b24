import type { JsonSchema, ToolSchema } from "../core/mod.ts";
import type { Tool } from "./tool.ts";
import { isRecord } from "../util/json.ts";

/** A name under which a tool is offered instead of its own. */
export interface ToolAlias {
  readonly tool: string;
  /** The tool's argument name for each offered one. */
  readonly args?: Readonly<Record<string, string>>;
  /**
   * Exactly the offered arguments, in this order, `?` behind those that may be left out; no other is taken
   * then, and a 0 is a 0. Absent or empty: all of the tool's own.
   */
  readonly parameters?: readonly string[];
  /** In place of the tool's own. */
  readonly description?: string;
}

/** A tool as the model is offered it, and as its calls are read. */
export class Offer {
  readonly tool: Tool;
  readonly name: string;
  readonly schema: JsonSchema;
  readonly description: string;
  /** No argument is taken beside the declared ones. */
  readonly exact: boolean;
  /** Parameters that were asked for and that the tool does not have. */
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
    const known = { ...propertiesOf(more), ...propertiesOf(all) };
    this.unknown = wanted.map(bare).filter((one) => !Object.hasOwn(known, one));
    this.schema = this.exact ? signature(all, known, wanted) : all;
  }

  get declared(): ToolSchema {
    return { name: this.name, description: this.description, parameters: this.schema };
  }

  /**
   * The tool's synonyms, and its own names where others are offered, by the offered names; null: no argument
   * at all.
   */
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

  /** The schema with its properties under the offered names. */
  #renamed(schema: JsonSchema): JsonSchema {
    const offered = inverse(this.#names);
    if (offered.size === 0) return schema;
    const rename = (name: string) => offered.get(name) ?? name;
    return {
      ...schema,
      properties: Object.fromEntries(
        Object.entries(propertiesOf(schema)).map(([name, value]) => [rename(name), value]),
      ),
      ...(Array.isArray(schema.required) ? { required: schema.required.map(rename) } : {}),
    };
  }
}

/** The schema with the wanted properties alone; what the tool cannot do without stays. */
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

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema.properties) ? schema.properties : {};
}
