import type { Translate } from "../translate.ts";

/** Texts of the start, before a provider is set up. */
export const texts = (t: Translate) => ({
  /** Stands before what went wrong. */
  error: t`error: `,
  noProvider: t`No provider is set up yet`,
  noProviderRemedy: (key: string) => t`run \`reasonix setup\`, or export the key of a vendor, such as ${key}`,
  keyNotUsedRemedy: (key: string) =>
    t`run \`reasonix setup\` (${key} is set, but security.env_keys = false keeps it from being used)`,
  usesEnvironment: (key: string, vendor: string) =>
    t`No provider is set up: using ${key} from the environment (${vendor}); to choose another: reasonix setup`,
  unknownLanguage: (name: string, value: string, known: string) =>
    t`${name} is ${JSON.stringify(value)}, which is no language of the interface; set it to one of: ${known}`,
});
