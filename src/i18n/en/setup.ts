import type { Translate } from "../translate.ts";

/** The questions of `reasonix setup`. */
export const texts = (t: Translate) => ({
  title: t`Reasonix setup`,
  keys: t`↑ ↓ choose, Enter confirms, Ctrl-C cancels`,
  nothingWritten: t`Nothing was written`,
  /** The comment at the top of a new file. */
  header:
    t`# Reasonix configuration, made by \`reasonix setup\`; run it again to add or change a provider.\n# Keys are kept in the file .env next to this one. Every setting: reasonix docs config\n`,
  wroteDefault: (file: string) =>
    t`Wrote ${file}\nNext: reasonix doctor --online, then reasonix run "explain this project"`,
  wrote: (file: string) => t`Wrote ${file}`,
  savedKey: (file: string) => t`Saved the key in ${file}`,
  askInChat: t`Ask something`,
  askSomething: t`Start:  cd your-project && reasonix`,

  whichProvider: t`Which provider?`,
  onThisMachine: (server: string) => t`${server} on this machine`,
  foundAt: (address: string) => t`found at ${address}`,
  isSetUp: t`is set up; change it`,
  keyIsThere: (name: string) => t`${name} is there`,
  otherServer: t`Another OpenAI-compatible server`,
  byAddress: t`by its address`,
  address: t`Address of the API`,
  providerName: t`A name for it`,

  keyIsSaved: (name: string, file: string) => t`${name} is saved in ${file}`,
  keyIsInEnvironment: (name: string) => t`${name} is in the environment`,
  useThisKey: t`Use this key`,
  typeAnother: t`Type another one`,
  key: (name: string) => t`Key (saved as ${name})`,
  keyOrNone: (name: string) => t`Key (saved as ${name}; empty = none)`,

  askingForModels: (host: string) => t`Asking ${host} for its models`,
  listsModels: (host: string, count: number) =>
    count === 1 ? t`${host} lists 1 model` : t`${host} lists ${count} models`,
  listsNone: (host: string) => t`${host} lists no models`,
  model: t`Model`,
  search: t`Search:`,
  searchKeys: t`Type to search · ↑ ↓ choose · Enter confirms`,
  matches: (count: number) => count === 1 ? t`1 match` : t`${count} matches`,
  modelExample: t`the name that the server has for it`,
  askingModel: (model: string) => t`Asking ${model} for a word`,
  modelAnswers: (model: string) => t`${model} answers`,
  keyRefused: (host: string) => t`${host} does not take this key`,
  refused: (host: string) => t`${host} refuses`,
  notReached: (host: string) => t`${host} does not answer`,
  whatNow: t`What now?`,
  typeAnotherKey: t`Type another key`,
  tryAgain: t`Try again`,
  tryAgainOrModel: t`Try again, or choose another model`,
  saveAllTheSame: t`Save it all the same`,

  window: (tokens: number) => t`Context window: ${tokens.toLocaleString("en")} tokens`,
  askWindow:
    t`Context window of the model, in tokens (Enter = 128k; 0 = unknown: long sessions are not compacted)`,
  useAlways: (name: string) => t`Use ${name} for every run that names no other model?`,
  yes: t`Yes`,
  no: t`No`,

  wrong: {
    keyMissing: t`Paste the key that the vendor gave you`,
    keyIsAddress: t`This is an address; the key comes here`,
    keyHasBlanks: t`A key has no blanks: paste it alone`,
    keyHasSigns: t`A key has only letters, digits and signs such as - _ . : paste it without quotes`,
    keyIsAssignment: t`Paste only the text after the =`,
    keyTooShort: t`A key is longer than that`,
    keyOfOther: (vendor: string) => t`This looks like a key of ${vendor}`,
    address: t`Give an address such as https://example.com/v1`,
    addressHasKey: t`There is a key in this address: give the address alone, the key is asked for next`,
    addressHasBlanks: t`An address has no blanks`,
    twoAddresses: t`These are two addresses in one`,
    name: t`A name has only letters, digits, - and _`,
    model: t`Name a model`,
    window: t`Give a number such as 131072 or 128k`,
  },
});
