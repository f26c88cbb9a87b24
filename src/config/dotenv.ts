/**
 * Reads the lines of a `.env` file: `NAME=value`, an optional `export`, single or double quotes, `#` comments.
 * Values are taken as they are: nothing is expanded, so that a key with a `$` in it survives.
 */
export function parseDotenv(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$/.exec(line);
    if (match) values.set(match[1] ?? "", unquote(match[2] ?? ""));
  }
  return values;
}

function unquote(raw: string): string {
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?$/.exec(raw);
  if (quoted) {
    return quoted[2] ?? (quoted[1] ?? "").replace(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);
  }
  return raw.replace(/\s#.*$/, "").trim();
}

/** The values of a `.env` file, none when it is missing or unreadable. Read on first use only. */
export function lazyDotenv(read: () => string | undefined): () => ReadonlyMap<string, string> {
  let values: ReadonlyMap<string, string> | undefined;
  return () => values ??= parseDotenv(read() ?? "");
}
