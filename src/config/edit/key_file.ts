import { saveFile } from "../../util/atomic_write.ts";

/**
 * Saves a key in the key file, which only the user can read. A line of that name gives way; everything else
 * stays as it is.
 */
export async function saveKey(file: string, name: string, value: string): Promise<void> {
  const line = `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : `'${value}'`}`;
  const lines = linesWithout(file, [name]);
  while (lines.at(-1) === "") lines.pop();
  await saveFile(file, `${[...lines, line].join("\n")}\n`, { setMode: 0o600 });
}

/** Takes keys out of the key file; everything else stays as it is. */
export async function removeKeys(file: string, names: readonly string[]): Promise<void> {
  await saveFile(file, linesWithout(file, names).join("\n"), { setMode: 0o600 });
}

function linesWithout(file: string, names: readonly string[]): string[] {
  const lines = readIfThere(file).split("\n");
  return lines.filter((text) => {
    const name = /^(?:export\s+)?([A-Za-z_]\w*)\s*=/.exec(text)?.[1];
    return name === undefined || !names.includes(name);
  });
}

function readIfThere(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
