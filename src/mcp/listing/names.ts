/** Characters a tool's name may have on every wire. */
const MAX_NAME = 64;

const PREFIX = "mcp__";

/**
 * Returns the name under which the model calls a server's tool: `mcp__server__tool`, letters, digits, `_` and
 * `-`, at most 64 characters. A name that had to lose more than its blanks, or that is `taken`, ends with a
 * hash of the whole, so that two tools never share one.
 */
export function toolName(server: string, tool: string, taken?: ReadonlySet<string>): string {
  const plain = `${namePrefix(server)}${clean(tool)}`;
  const exact = !foreign(server) && !foreign(tool);
  if (exact && plain.length <= MAX_NAME && !taken?.has(plain)) return plain;
  const tail = `_${shortHash(`${server}\0${tool}`)}`;
  return plain.slice(0, MAX_NAME - tail.length) + tail;
}

/** What the names of everything of a server begin with, but for names that had to be cut. */
export function namePrefix(server: string): string {
  return `${PREFIX}${clean(server)}__`;
}

function clean(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, "_");
}

function foreign(text: string): boolean {
  return text === "" || /[^A-Za-z0-9_ -]/.test(text);
}

/** Six characters that differ for most different texts. */
function shortHash(text: string): string {
  return textHash(text).toString(36).padStart(6, "0").slice(-6);
}

/**
 * A number of 32 bits that differs for most different texts, and for each `seed`; FNV-1a over UTF-16 units.
 * Not for what an attacker must not be able to make up.
 */
export function textHash(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
