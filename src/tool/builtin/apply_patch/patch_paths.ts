/** File names as unified diffs write them. */

/** The name on a `---` or `+++` line, or undefined for /dev/null. A time after a tab is dropped. */
export function headerPath(line: string): string | undefined {
  const text = line.slice(4).replace(/\r$/, "");
  const name = text.startsWith('"')
    ? unquotePath(text.replace(/\t[^"]*$/, ""))
    : text.replace(/\t.*$/, "").trimEnd();
  return name === "/dev/null" ? undefined : name;
}

/**
 * Takes git's `a/` and `b/` (or its mnemonic letters, in either order) off a pair of names, when both have
 * one and they differ. Beside /dev/null only `a/` and `b/` count.
 */
export function withoutPrefixes(
  from: string | undefined,
  to: string | undefined,
): [string | undefined, string | undefined] {
  const letter = (name: string | undefined) => /^([abciow])\//.exec(name ?? "")?.[1];
  const single = from === undefined || to === undefined;
  const prefixed = single
    ? /^[ab]\//.test(from ?? to ?? "")
    : letter(from) !== undefined && letter(to) !== undefined && letter(from) !== letter(to);
  return prefixed ? [from?.slice(2), to?.slice(2)] : [from, to];
}

/** Both names of a `diff --git` line. Unquoted names may hold blanks: then both halves name the same file. */
export function gitHeaderPaths(text: string): [string, string] | undefined {
  const trimmed = text.replace(/\r$/, "");
  const pair = /^("(?:[^"\\]|\\.)*"|[^ "]+) ("(?:[^"\\]|\\.)*"|[^ "]+)$/.exec(trimmed);
  if (pair?.[1] && pair[2]) return stripped(unquotePath(pair[1]), unquotePath(pair[2]));
  const middle = (trimmed.length - 1) / 2;
  const halves: [string, string] = [trimmed.slice(0, middle), trimmed.slice(middle + 1)];
  const names = stripped(...halves);
  return trimmed[middle] === " " && names[0] === names[1] ? names : undefined;
}

function stripped(from: string, to: string): [string, string] {
  const [first, second] = withoutPrefixes(from, to);
  return [first ?? from, second ?? to];
}

/** Undoes git's C-style quoting; octal escapes are bytes of UTF-8. */
export function unquotePath(text: string): string {
  const trimmed = text.replace(/\r$/, "");
  if (!trimmed.startsWith('"') || !trimmed.endsWith('"') || trimmed.length < 2) return trimmed;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [token, octal, escape] of trimmed.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8));
    else bytes.push(...encoder.encode(escape === undefined ? token : ESCAPES[escape] ?? escape));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
