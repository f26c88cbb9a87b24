import { type ProviderTable, saveProvider } from "../../../src/config/mod.ts";
import { exists } from "../../../src/path/probe.ts";
import { writeFileAtomic } from "../../../src/util/atomic_write.ts";

/** The answers that the wizard collected. */
export interface SetupAnswers {
  readonly entry: ProviderTable;
  /** A key that was typed, and the variable it is saved under. */
  readonly key?: { readonly name: string; readonly value: string };
  /** True when runs use this provider unless they name another. */
  readonly isDefault: boolean;
}

const HEADER =
  "# Reasonix configuration, made by `reasonix setup`; run it again to add or change a provider.\n" +
  "# Keys are kept in the file .env beside this one. Every setting: reasonix config show\n";

/** Puts the answers into the configuration and the key file; both are made when they are missing. */
export async function saveSetup(file: string, envFile: string, answers: SetupAnswers): Promise<void> {
  if (answers.key) await saveKey(envFile, answers.key.name, answers.key.value);
  await saveProvider(file, answers.entry, {
    isDefault: answers.isDefault,
    ...(exists(file) ? {} : { header: HEADER }),
  });
}

/**
 * Saves a key in the key file, which only the user can read. A line of that name gives way; everything else
 * stays as it is.
 */
export async function saveKey(file: string, name: string, value: string): Promise<void> {
  await Deno.mkdir(file.replace(/[/\\][^/\\]*$/, ""), { recursive: true, mode: 0o700 });
  const line = `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : `'${value}'`}`;
  const before = readIfThere(file);
  const lines = before.split("\n").filter((text) => !new RegExp(`^(?:export\\s+)?${name}\\s*=`).test(text));
  while (lines.at(-1) === "") lines.pop();
  await writeFileAtomic(file, `${[...lines, line].join("\n")}\n`, { setMode: 0o600 });
}

function readIfThere(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
