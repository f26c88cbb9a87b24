import type { McpToolInfo, ServerStatus } from "../../../src/mcp/mod.ts";
import { isRecord } from "../../../src/util/json.ts";
import { displayWidth, padDisplay } from "../../../src/util/display_width.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";

/** What a server offers, counted: `2 tools, 1 prompt, 3 resources`. */
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
