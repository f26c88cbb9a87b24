import type { McpToolInfo, ServerStatus } from "../../../src/mcp/mod.ts";
import { isRecord } from "../../../src/util/json.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";

/** What a server offers, counted: `2 tools, 1 prompt, 3 resources`. */
export function counted(
  { tools, prompts, resources }: Pick<ServerStatus, "tools" | "prompts" | "resources">,
): string {
  const some = ([[tools, "tool"], [prompts, "prompt"], [resources, "resource"]] as const)
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  return some.join(", ") || "no tools";
}

/** `add_note(text: string, tag?: string)  Adds a note`, and whether it only reads. */
export function signatureLine({ name, description, schema, claimsToRead }: McpToolInfo): string {
  const reads = claimsToRead ? " (read-only, declared by the server)" : "";
  return `${oneLine(name, 100)}(${parametersOf(schema)})  ${
    oneLine(firstSentence(description), 200)
  }${reads}`;
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
