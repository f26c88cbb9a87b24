/** The address of a file as language servers take it. */
export function fileUri(path: string): string {
  const slashed = path.replaceAll("\\", "/");
  const encoded = slashed.split("/").map(encodeURIComponent).join("/");
  return `file://${encoded.startsWith("/") ? "" : "/"}${encoded}`;
}

/** The file that an address names; undefined for any other address. Servers encode names in several ways. */
export function pathOfUri(uri: string): string | undefined {
  const encoded = /^file:\/\/(?:localhost)?(\/.*)$/.exec(uri)?.[1];
  if (encoded === undefined) return undefined;
  try {
    const path = decodeURIComponent(encoded);
    return /^\/[A-Za-z]:/.test(path) ? path.slice(1) : path;
  } catch {
    return undefined;
  }
}
