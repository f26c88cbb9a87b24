import { type ProviderTable, saveKey, saveProvider } from "../../src/config/mod.ts";
import { exists } from "../../src/path/probe.ts";

/** The answers that the wizard collected. */
export interface SetupAnswers {
  readonly entry: ProviderTable;
  /** A key that was typed, and the variable it is saved under. */
  readonly key?: { readonly name: string; readonly value: string };
  /** True when runs use this provider unless they name another. */
  readonly isDefault: boolean;
}

/**
 * Puts the answers into the configuration and the key file; both are made when they are missing, a
 * configuration with `header` as its first comment.
 */
export async function saveSetup(
  file: string,
  envFile: string,
  answers: SetupAnswers,
  header: string,
): Promise<void> {
  if (answers.key) await saveKey(envFile, answers.key.name, answers.key.value);
  await saveProvider(file, answers.entry, {
    isDefault: answers.isDefault,
    ...(exists(file) ? {} : { header }),
  });
}
