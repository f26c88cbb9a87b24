import { type OutputUnit, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { errorMessage, type JsonSchema, message, usageError } from "../core/mod.ts";
import { loadSchemaCheck } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import type { AnswerForm } from "./ports.ts";
import { attempt } from "../util/lazy.ts";

/** Problems that one message names; the rest are counted. */
const MAX_PROBLEMS = 10;

const CHECK_SECONDS = 5;

/** An answer that fits, as text and as the value it represents. */
interface StructuredAnswer {
  readonly text: string;
  readonly value: unknown;
}

/** Answers that are one JSON value described by a JSON Schema (draft 4, 7, 2019-09 or 2020-12). */
export class AnswerSchema implements AnswerForm {
  readonly request: string;
  readonly #schema: JsonSchema;
  readonly #seconds: number;
  /** The last answer that was looked at, and what is wrong with it. */
  #last: { readonly answer: string; readonly problem: string | undefined } | undefined;

  /**
   * Throws a ReasonixError (usage) when the schema cannot be used.
   *
   * @param seconds limit of a check that may take any time
   */
  constructor(schema: JsonSchema, seconds = CHECK_SECONDS) {
    this.#schema = schema;
    this.#seconds = seconds;
    this.request = `<answer_schema>\n${JSON.stringify(schema)}\n</answer_schema>\n` +
      "The answer that ends this task is one JSON value described by this JSON Schema, and nothing else: " +
      "no words around it, no code fence.";
    try {
      const fault = faultOf(schema, schema);
      if (fault !== undefined) throw new TypeError(fault);
      new Validator(structuredClone(schema) as Schema, draftOf(schema), false);
    } catch (error) {
      throw usageError(
        message`Cannot use the JSON Schema: ${errorMessage(error)}`,
        message`correct the schema; references have to stay within it`,
      );
    }
  }

  /** The answer where it fits the schema. */
  async read(answer: string): Promise<StructuredAnswer | undefined> {
    const given = parsed(answer);
    return "text" in given && await this.problem(answer) === undefined ? given : undefined;
  }

  async problem(answer: string, signal?: AbortSignal): Promise<string | undefined> {
    if (this.#last?.answer !== answer) {
      const problem = await this.#problem(answer, signal);
      if (signal?.aborted) return undefined;
      this.#last = { answer, problem };
    }
    return this.#last.problem;
  }

  async #problem(answer: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    const given = parsed(answer);
    if ("reason" in given) return `The answer is not one JSON value: ${given.reason}.`;
    const { checkSchema } = await loadSchemaCheck();
    const seconds = this.#seconds;
    const job = { schema: this.#schema, draft: draftOf(this.#schema), value: given.value };
    const errors = await checkSchema(job, seconds, signal);
    if (!errors) {
      return `The answer could not be checked against the JSON Schema within ${seconds} s: ` +
        "a pattern of the schema takes too long on its text.";
    }
    if (errors.length === 0) return undefined;
    const lines = [
      ...new Set(
        significant(errors).map(({ instanceLocation, keyword, error }) =>
          `- ${instanceLocation === "#" ? "the answer" : instanceLocation.slice(1)}: ${
            keyword === "false" ? "is not allowed here" : error
          }`
        ),
      ),
    ];
    const rest = lines.length > MAX_PROBLEMS ? [`- and ${lines.length - MAX_PROBLEMS} more`] : [];
    return ["The answer does not fit the JSON Schema:", ...lines.slice(0, MAX_PROBLEMS), ...rest].join("\n");
  }
}

/** The JSON value that an answer is, also when a code fence surrounds it. */
function parsed(answer: string): StructuredAnswer | { readonly reason: string } {
  const whole = answer.trim();
  const text = /^```\w*\s*\n([\s\S]*?)\n\s*```$/.exec(whole)?.[1]?.trim() ?? whole;
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    return { reason: errorMessage(error) };
  }
}

/** Errors that are neither those of a container of others nor their consequences. */
function significant(errors: readonly OutputUnit[]): readonly OutputUnit[] {
  const isBelow = (location: string, error: OutputUnit) =>
    error.instanceLocation === location || error.instanceLocation.startsWith(`${location}/`);
  const containers = [
    "properties",
    "items",
    "prefixItems",
    "additionalProperties",
    "patternProperties",
    "$ref",
  ];
  return errors.filter((error) => {
    const { instanceLocation: location, keyword } = error;
    const others = errors.filter((other) => other !== error && isBelow(location, other));
    if (containers.includes(keyword)) return others.length === 0;
    return keyword !== "false" || others.every((other) => other.keyword === "false");
  });
}

function draftOf({ $schema }: JsonSchema): SchemaDraft {
  const named = typeof $schema === "string" ? $schema : "";
  if (/draft-0[67]/.test(named)) return "7";
  if (/draft-0[34]/.test(named)) return "4";
  return named.includes("2019-09") ? "2019-09" : "2020-12";
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

/** A fault of a schema that would only show, or never be satisfied, when an answer has been paid for. */
function faultOf(part: unknown, root: JsonSchema): string | undefined {
  if (Array.isArray(part)) return part.map((each) => faultOf(each, root)).find(Boolean);
  if (!isRecord(part)) return undefined;
  // Values of these are data.
  const { const: _const, enum: _enum, default: _default, examples: _examples, ...keywords } = part;
  const { pattern, $ref, type } = keywords;
  if (typeof pattern === "string" && !isPattern(pattern)) {
    return `${JSON.stringify(pattern)} is no regular expression`;
  }
  if (typeof $ref === "string" && !resolves($ref, root)) return `$ref ${JSON.stringify($ref)} leads nowhere`;
  const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === "string");
  const unknown = types.find((each) => !TYPES.includes(each));
  if (unknown !== undefined) return `there is no type ${JSON.stringify(unknown)}; known: ${TYPES.join(", ")}`;
  return Object.values(keywords).map((each) => faultOf(each, root)).find(Boolean);
}

/** Reports whether a reference leads to a part of the schema; those by name are left to the validator. */
function resolves(reference: string, root: JsonSchema): boolean {
  if (!reference.startsWith("#/")) return true;
  const steps = reference.slice(2).split("/").map((step) =>
    decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")
  );
  let at: unknown = root;
  for (const step of steps) at = Object(at)[step];
  return at !== undefined;
}

function isPattern(text: string): boolean {
  return attempt(() => new RegExp(text, "u")) !== undefined;
}
