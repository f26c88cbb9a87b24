/** What is said before there is anything to work with. */
export const texts = {
  /** Stands before what went wrong. */
  error: "error: ",
  noProvider: "No provider is set up yet",
  noProviderRemedy: (key: string) => `run \`reasonix setup\`, or export the key of a vendor, such as ${key}`,
  keyNotUsedRemedy: (key: string) =>
    `run \`reasonix setup\` (${key} is set, but security.env_keys = false keeps it from being used)`,
  usesEnvironment: (key: string, vendor: string) =>
    `No provider is set up: using ${key} from the environment (${vendor}); to choose another: reasonix setup`,
  unknownLanguage: (name: string, value: string, known: string) =>
    `${name} is ${JSON.stringify(value)}, which is no language of the interface; set it to one of: ${known}`,
};
