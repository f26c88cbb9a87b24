import { AutocompletePrompt } from "@clack/core";
import {
  cancel,
  intro,
  limitOptions,
  log,
  outro,
  password,
  S_BAR,
  S_BAR_END,
  S_RADIO_ACTIVE,
  S_RADIO_INACTIVE,
  spinner,
  symbol,
  text,
} from "@clack/prompts";
import {
  answered,
  Cancelled,
  chooseTarget,
  closing,
  entryOf,
  guided,
  keyNameOf,
  keyProblem,
  linesOf,
  pick,
  readTokens,
  type Target,
  trialEntry,
} from "./target.ts";
import { languageNotice, textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { styleText } from "node:util";
import {
  loadConfig,
  type LoadedConfig,
  type ProviderTable,
  saveKey,
  saveProvider,
  userConfigFile,
} from "../../src/config/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { exists } from "../../src/path/probe.ts";
import {
  askOneWord,
  type CheckFailure,
  checkProvider,
  loadWindow,
  modelInfo,
} from "../../src/provider/mod.ts";
import { programFetch } from "../../src/util/network/fetch.ts";
import { VERSION } from "../../src/util/version.ts";

/**
 * Asks on the terminal for a provider, tries it and saves it in `file`, by default the user's configuration.
 * False: the user gave up, nothing was saved. With `inChat` the chat continues afterwards.
 */
export async function setUp(
  context: CliContext,
  { file, inChat = false }: { readonly file?: string; readonly inChat?: boolean },
): Promise<boolean> {
  const paths = runPaths(context);
  const loaded = await loadConfig(paths);
  const notice = await languageNotice(context, loaded);
  if (notice !== undefined) context.process.stderr.write(`! ${notice}\n`);
  const texts = await textsFor("setup", context, loaded);
  const target = file ?? userConfigFile(paths);
  const keyFile = `${paths.home}/.env`;
  intro(texts.title);
  log.message(linesOf(texts.keys));
  try {
    const answers = await askSetup(loaded, texts);
    await saveSetup(target, keyFile, answers, texts.header);
    const savedKey = answers.key ? linesOf(texts.savedKey(keyFile)) : [];
    log.success([...linesOf(texts.wrote(target)), ...savedKey].join("\n"));
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel(texts.nothingWritten);
    return false;
  }
  const next = inChat ? texts.askInChat : texts.askSomething;
  // A command is copied as a whole: it gets a separate line before it is broken.
  outro(closing(inChat || linesOf(next).length === 1 ? next : next.replace(/ {2,}/, "\n")));
  return true;
}

interface KeyAnswer {
  readonly name: string;
  readonly value: string;
  readonly isNew: boolean;
}

const NO_KEY: KeyAnswer = { name: "", value: "", isNew: false };
/** The window that most models of today have at least. */
const USUAL_WINDOW = "128k";
/** A longer list of models is searched by typing. */
const LONG_LIST = 20;
const TRIAL_LIMIT_MS = 30_000;

/** Asks for a provider and tries it until it answers. Throws Cancelled when the user gives up. */
async function askSetup(loaded: LoadedConfig, texts: Texts["setup"]): Promise<SetupAnswers> {
  const isUsers = loaded.layers.some(({ source, table }) =>
    source === "user" && table.providers !== undefined
  );
  const configured = isUsers ? loaded.config.providers : [];
  const target = await chooseTarget(configured, (name) => Boolean(findKey(loaded.keys, name).value), texts);
  const { key, model } = await findWorking(target, await chooseKey(target, loaded, texts), texts);
  const window = await chooseWindow(target, { key, model }, texts);
  const isOnly = configured.every(({ name }) => name === target.name);
  // A letter would answer the kit's own question for a yes.
  const isDefault = isOnly || await pick(texts.useAlways(target.name), [
        { value: "yes", label: texts.yes },
        { value: "no", label: texts.no },
      ]) === "yes";
  const entry = entryOf(target, { keyName: key.name, model, window });
  return { entry, isDefault, ...(key.isNew ? { key: { name: key.name, value: key.value } } : {}) };
}

/** Returns the value of a key where there is one: saved in the home, or in the environment. */
function findKey(keys: LoadedConfig["keys"], name: string): { value?: string | undefined; isSaved: boolean } {
  const saved = keys.saved().get(name);
  return { value: saved ?? (keys.useEnv ? keys.env(name) : undefined), isSaved: saved !== undefined };
}

/** Takes a key that is there already, or asks for one. */
async function chooseKey(target: Target, { keys }: LoadedConfig, texts: Texts["setup"]): Promise<KeyAnswer> {
  const name = target.keyName;
  if (name === "") return NO_KEY;
  const { value, isSaved } = findKey(keys, name);
  if (!value) return await typeKey(target, texts);
  const place = isSaved ? texts.keyIsSaved(name, keys.file) : texts.keyIsInEnvironment(name);
  const choice = await pick(place, [
    { value: "use", label: texts.useThisKey },
    { value: "type", label: texts.typeAnother },
  ]);
  return choice === "use" ? { name, value, isNew: false } : await typeKey(target, texts);
}

async function typeKey(target: Target, texts: Texts["setup"]): Promise<KeyAnswer> {
  const name = target.keyName || keyNameOf(target.name);
  const optional = target.vendor === undefined;
  const value = (answered(
    await password({
      message: guided(optional ? texts.keyOrNone(name) : texts.key(name)),
      clearOnError: true,
      validate: (given) => {
        const key = (given ?? "").trim();
        if (key === "") return optional ? undefined : closing(texts.wrong.keyMissing);
        const problem = keyProblem(key, target.vendor?.name, texts.wrong);
        return problem === undefined ? undefined : closing(problem);
      },
    }),
  ) ?? "").trim();
  return value === "" ? NO_KEY : { name, value, isNew: true };
}

interface Working {
  readonly key: KeyAnswer;
  readonly model: string;
}

/** Tries key and model until the model answers or the user wants them as they are. */
async function findWorking(target: Target, first: KeyAnswer, texts: Texts["setup"]): Promise<Working> {
  let key = first;
  let model: string | undefined;
  while (true) {
    const found = await listLive(target, key, texts);
    if (!found.failure) model = await chooseModel(target, { listed: found.models ?? [], last: model }, texts);
    const failure = found.failure ?? await tryModel(target, { key, model: model ?? "" }, texts);
    if (!failure) return { key, model: model ?? "" };
    const next = await pick<"key" | "again" | "keep">(texts.whatNow, [
      ...(failure.auth ? [{ value: "key", label: texts.typeAnotherKey }] as const : []),
      { value: "again", label: found.failure ? texts.tryAgain : texts.tryAgainOrModel },
      ...(failure.auth ? [] : [{ value: "key", label: texts.typeAnotherKey }] as const),
      { value: "keep", label: texts.saveAllTheSame },
    ]);
    if (next === "key") key = await typeKey(target, texts);
    if (next === "keep") return { key, model: model ?? await chooseModel(target, { listed: [] }, texts) };
  }
}

async function listLive(target: Target, key: KeyAnswer, texts: Texts["setup"]) {
  const { host } = new URL(target.baseUrl);
  const wait = spinner({ cancelMessage: texts.nothingWritten });
  wait.start(texts.askingForModels(host));
  const found = await checkProvider(trial(target, key), AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (found.failure) wait.error(failureText(found.failure, host, texts));
  else wait.stop(guided(found.models ? texts.listsModels(host, found.models.length) : texts.listsNone(host)));
  return found;
}

async function tryModel(target: Target, { key, model }: Working, texts: Texts["setup"]) {
  const wait = spinner({ cancelMessage: texts.nothingWritten });
  wait.start(texts.askingModel(model));
  const failure = await askOneWord({ ...trial(target, key), model }, AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (failure) wait.error(failureText(failure, new URL(target.baseUrl).host, texts));
  else wait.stop(guided(texts.modelAnswers(model)));
  return failure;
}

/** The result in the language of the user, then the message of the provider. */
function failureText({ auth, reached, message }: CheckFailure, host: string, texts: Texts["setup"]): string {
  const result = auth ? texts.keyRefused(host) : reached ? texts.refused(host) : texts.notReached(host);
  return guided(`${result}\n${message}`);
}

function trial(target: Target, key: KeyAnswer) {
  return {
    entry: trialEntry(target, key.name),
    version: VERSION,
    ...(key.value === "" ? {} : { apiKey: key.value }),
  };
}

async function chooseModel(
  { vendor }: Target,
  { listed, last }: { readonly listed: readonly string[]; readonly last?: string | undefined },
  texts: Texts["setup"],
): Promise<string> {
  const usual = vendor?.models ?? [];
  if (listed.length === 0) {
    const proposed = last ?? usual[0] ?? "";
    return answered(
      await text({
        message: texts.model,
        placeholder: proposed || texts.modelExample,
        ...(proposed === "" ? {} : { defaultValue: proposed }),
        validate: (value) => value?.trim() || proposed ? undefined : texts.wrong.model,
      }),
    ).trim();
  }
  const first = [last, ...usual].find((model) => model !== undefined && listed.includes(model)) ?? listed[0];
  if (listed.length > LONG_LIST) {
    return String(answered(await searchList(listed, first, texts)));
  }
  return await pick(texts.model, listed.map((model) => ({ value: model, label: model })), first);
}

/**
 * Returns the window to write down: of the server, or of the user; 0 = none, since the tables of
 * models have it or it is unknown.
 */
async function chooseWindow(
  target: Target,
  { key, model }: Working,
  texts: Texts["setup"],
): Promise<number> {
  const { discoverWindow } = await loadWindow();
  const { entry, apiKey } = { apiKey: undefined, ...trial(target, key) };
  const found = await discoverWindow({
    entry: { ...entry, context_window: 0 },
    model,
    fetch: programFetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  const known = found?.tokens ?? (await modelInfo({ entry, model })).contextWindow;
  if (known !== undefined) {
    log.info(linesOf(texts.window(known)).join("\n"));
    // What the tables of models say need not be in the file: a newer table would not count then.
    return found || target.vendor?.window ? known : 0;
  }
  const given = answered(
    await text({
      message: guided(texts.askWindow),
      placeholder: USUAL_WINDOW,
      defaultValue: USUAL_WINDOW,
      validate: (value) =>
        !value || readTokens(value) !== undefined ? undefined : closing(texts.wrong.window),
    }),
  );
  return readTokens(given ?? "") ?? 0;
}

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

const ROWS = 16;

/** A list of names with a filter: the one of the kit is English only. */
function searchList(
  names: readonly string[],
  initialValue: string | undefined,
  texts: Texts["setup"],
): Promise<unknown> {
  const dim = (text: string) => styleText("dim", text);
  const prompt = new AutocompletePrompt({
    options: names.map((value) => ({ value })),
    ...(initialValue === undefined ? {} : { initialValue: [initialValue] }),
    filter: (search, { value }) => value.toLowerCase().includes(search.toLowerCase()),
    render() {
      const head = `${styleText("gray", S_BAR)}\n${symbol(this.state)}  ${texts.model}\n`;
      if (this.state === "submit") return `${head}${styleText("gray", S_BAR)}  ${dim(String(this.value))}`;
      if (this.state === "cancel") return `${head}${styleText("gray", S_BAR)}`;
      const bar = `${styleText("cyan", S_BAR)}  `;
      const found = this.filteredOptions;
      const typed = this.isNavigating ? dim(this.userInput) : this.userInputWithCursor;
      const count = found.length === names.length ? "" : dim(` (${texts.matches(found.length)})`);
      const list = found.length === 0 ? [] : limitOptions({
        cursor: this.cursor,
        options: found,
        columnPadding: 3,
        rowPadding: 6,
        maxItems: ROWS,
        style: ({ value }, active) =>
          active
            ? `${styleText("green", S_RADIO_ACTIVE)} ${value}`
            : `${dim(S_RADIO_INACTIVE)} ${dim(value)}`,
      });
      const lines = [`${dim(texts.search)} ${typed}${count}`, ...list, dim(texts.searchKeys)];
      return `${head}${lines.map((line) => bar + line).join("\n")}\n${styleText("cyan", S_BAR_END)}`;
    },
  });
  return prompt.prompt();
}
