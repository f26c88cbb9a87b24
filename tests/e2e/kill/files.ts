/** The files of a workspace: their contents by path. */
export type Tree = ReadonlyMap<string, string>;

export function readTree(root: string, below = ""): Map<string, string> {
  const tree = new Map<string, string>();
  for (const entry of Deno.readDirSync(`${root}/${below}`)) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory) { for (const [name, text] of readTree(root, path)) tree.set(name, text); }
    else tree.set(path, Deno.readTextFileSync(`${root}/${path}`));
  }
  return tree;
}

/** Describes the difference of two trees; empty when they are equal. */
export function difference(wanted: Tree, found: Tree): string {
  const paths = [...new Set([...wanted.keys(), ...found.keys()])].sort();
  const lines = paths.filter((path) => wanted.get(path) !== found.get(path)).map((path) =>
    `${path}: wanted ${shortened(wanted.get(path))}, found ${shortened(found.get(path))}`
  );
  return lines.slice(0, 8).join("\n");
}

function shortened(text: string | undefined): string {
  return text === undefined ? "no file" : JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text);
}

export function sizeOf(file: string): number {
  try {
    return Deno.statSync(file).size;
  } catch {
    return 0;
  }
}

export function countOf(directory: string): number {
  try {
    return [...Deno.readDirSync(directory)].length;
  } catch {
    return 0;
  }
}
