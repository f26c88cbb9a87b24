import type { Prefix, ToolSchema } from "../../core/mod.ts";
import { isRecord } from "../../util/json.ts";
import template from "./addendum.md" with { type: "text" };
import { exampleCall, requiredNames } from "./syntax.ts";

/**
 * The head of a conversation with a model that is told in the system prompt how to call its tools.
 *
 * Contract: the same prefix gives the same bytes.
 */
export function taughtPrefix({ system, tools }: Prefix): Prefix {
  if (tools.length === 0) return { system, tools };
  const [first] = tools;
  const telling = tools.find(({ parameters }) => requiredNames(parameters).length > 1) ?? first;
  const addendum = template.trimEnd()
    .replace("{{example}}", () => telling ? exampleCall(telling) : "")
    .replace("{{tools}}", () => tools.map(toolText).join("\n\n"));
  return { system: `${system}${system === "" ? "" : "\n"}${addendum}\n`, tools: [] };
}

function toolText({ name, description, parameters }: ToolSchema): string {
  const properties = isRecord(parameters.properties) ? Object.entries(parameters.properties) : [];
  const required = requiredNames(parameters);
  const lines = properties.map(([key, property]) => argumentLine(key, property, required.includes(key)));
  return [`## ${name}`, description.trim(), ...(lines.length > 0 ? [lines.join("\n")] : [])]
    .filter((part) => part !== "").join("\n");
}

function argumentLine(key: string, property: unknown, required: boolean): string {
  const { description, ...schema } = isRecord(property) ? property : {};
  const facts = `${typeText(schema)}${required ? ", required" : ""}`;
  const about = typeof description === "string" ? `: ${description.trim().replace(/\s*\n\s*/g, " ")}` : "";
  return `- ${key} (${facts})${about}`;
}

/** A type in words where it is simple, else as JSON Schema. */
function typeText(schema: Readonly<Record<string, unknown>>): string {
  const { type, enum: values, default: usual, minimum, maximum, ...more } = schema;
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
    ...(usual === undefined ? [] : [`default ${JSON.stringify(usual)}`]),
  ];
  if (typeof type !== "string" || Object.keys(more).length > 0) return `JSON: ${JSON.stringify(schema)}`;
  const what = Array.isArray(values)
    ? `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`
    : type;
  return [what, ...bounds].join(", ");
}
