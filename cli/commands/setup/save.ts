import { type ProviderTable, saveKey, saveProvider } from "../../../src/config/mod.ts";
import { exists } from "../../../src/path/probe.ts";

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
  "# Keys are kept in the file .env beside this one. Every setting: reasonix docs config\n";

/** Puts the answers into the configuration and the key file; both are made when they are missing. */
export async function saveSetup(file: string, envFile: string, answers: SetupAnswers): Promise<void> {
  if (answers.key) await saveKey(envFile, answers.key.name, answers.key.value);
  await saveProvider(file, answers.entry, {
    isDefault: answers.isDefault,
    ...(exists(file) ? {} : { header: HEADER }),
  });
}
