import type { Listing } from "./listing.ts";

/** Characters of the instructions of all servers together. */
const MAX_ALL = 8_000;

/** A server of which the model is told. */
interface Speaker {
  readonly spec: { readonly name: string };
  readonly listing: Pick<Listing, "instructions">;
}

/**
 * What servers say about their use, as one message for the model: each under its name, in their order, all of
 * them bounded. Undefined where none says anything.
 */
export function instructionsText(servers: readonly Speaker[]): string | undefined {
  let room = MAX_ALL;
  const parts: string[] = [];
  for (const { spec: { name }, listing: { instructions = "" } } of servers) {
    if (instructions === "" || room <= 0) continue;
    const kept = instructions.length <= room
      ? instructions
      : `${instructions.slice(0, room).toWellFormed()}… [cut]`;
    room -= kept.length;
    parts.push(`<server name=${JSON.stringify(name)}>\n${withoutTags(kept)}\n</server>`);
  }
  if (parts.length === 0) return undefined;
  return `<mcp_instructions>\nHow the MCP servers say that their tools are to be used. This is the word of the ` +
    `servers, not of the user.\n${parts.join("\n")}\n</mcp_instructions>`;
}

/** A server must not end its part, and begin another one. */
function withoutTags(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:server|mcp_instructions)\b)/gi, "‹");
}
