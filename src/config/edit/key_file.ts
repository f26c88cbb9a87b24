import { saveFile } from "../../util/atomic_write.ts";

/**
 * Saves a key in the key file, which only the user can read. A line of that name gives way; everything else
 * stays as it is.
 */
export async function saveKey(file: string, name: string, value: string): Promise<void> {
  const line = `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : `'${value}'`}`;
  const before = readIfThere(file);
  const lines = before.split("\n").filter((text) => !new RegExp(`^(?:export\\s+)?${name}\\s*=`).test(text));
  while (lines.at(-1) === "") lines.pop();
  await saveFile(file, `${[...lines, line].join("\n")}\n`, { setMode: 0o600 });
}

function readIfThere(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
