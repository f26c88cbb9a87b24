import { cancel, intro, log, outro, password, spinner, text } from "@clack/prompts";
import type { LoadedConfig } from "../../src/config/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import {
  askOneWord,
  type CheckFailure,
  checkProvider,
  loadWindow,
  modelInfo,
} from "../../src/provider/mod.ts";
import { programFetch } from "../../src/util/network/fetch.ts";
import { VERSION } from "../../src/util/version.ts";
import { answered, Cancelled, closing, guided, linesOf, pick } from "./prompts.ts";
import type { SetupAnswers } from "./save.ts";
import { searchList } from "./search_list.ts";
import { keyProblem, readTokens } from "./shapes.ts";
import { chooseTarget, entryOf, keyNameOf, type Target, trialEntry } from "./target.ts";

/** A key as it was given; `isNew` when it is to be saved. */
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

/** Asks for a provider and tries it until it answers. Undefined when the user gives up. */
export async function askSetup(
  loaded: LoadedConfig,
  texts: Texts["setup"],
): Promise<SetupAnswers | undefined> {
  intro(texts.title);
  log.message(linesOf(texts.keys));
  try {
    const isOwn = loaded.layers.some(({ source, table }) =>
      source === "user" && table.providers !== undefined
    );
    const configured = isOwn ? loaded.config.providers : [];
    const target = await chooseTarget(configured, (name) => Boolean(findKey(loaded.keys, name).value), texts);
    const { key, model } = await findWorking(target, await chooseKey(target, loaded, texts), texts);
    const window = await chooseWindow(target, { key, model }, texts);
    const others = configured.filter(({ name }) => name !== target.name);
    // A letter would answer the kit's own question for a yes.
    const isDefault = others.length === 0 || await pick(texts.useAlways(target.name), [
          { value: "yes", label: texts.yes },
          { value: "no", label: texts.no },
        ]) === "yes";
    const entry = entryOf(target, { keyName: key.name, model, window });
    return { entry, isDefault, ...(key.isNew ? { key: { name: key.name, value: key.value } } : {}) };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel(texts.nothingWritten);
    return undefined;
  }
}

interface Finish {
  readonly texts: Texts["setup"];
  /** The file that a key was saved in. */
  readonly keyFile?: string;
  readonly inChat: boolean;
}

/** Says what was saved, and what comes next. */
export function finish(file: string, { texts, keyFile, inChat }: Finish): void {
  const saved = keyFile === undefined ? [] : linesOf(texts.savedKey(keyFile));
  log.success([...linesOf(texts.wrote(file)), ...saved].join("\n"));
  const ask = inChat ? texts.askInChat : texts.askSomething;
  // A command is copied as a whole: it goes to a line of its own before it is broken.
  outro(closing(inChat || linesOf(ask).length === 1 ? ask : ask.replace(/ {2,}/, "\n")));
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

async function tryModel(
  target: Target,
  { key, model }: Working,
  texts: Texts["setup"],
): Promise<CheckFailure | undefined> {
  const wait = spinner({ cancelMessage: texts.nothingWritten });
  wait.start(texts.askingModel(model));
  const failure = await askOneWord({ ...trial(target, key), model }, AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (failure) wait.error(failureText(failure, new URL(target.baseUrl).host, texts));
  else wait.stop(guided(texts.modelAnswers(model)));
  return failure;
}

/** The verdict in the language of the user, then what was said on the way. */
function failureText(failure: CheckFailure, host: string, texts: Texts["setup"]): string {
  const { auth, reached, message } = failure;
  const verdict = auth ? texts.keyRefused(host) : reached ? texts.refused(host) : texts.notReached(host);
  return guided(`${verdict}\n${message}`);
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
    return String(
      answered(await searchList({ message: texts.model, names: listed, initialValue: first, texts })),
    );
  }
  return await pick(texts.model, listed.map((model) => ({ value: model, label: model })), first);
}

/**
 * Returns the window to write down: the one that the server tells, or the user; 0 = none, since the tables of
 * models have it or nobody knows.
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
    // What the tables of models say need not stand in the file: a newer table would not count then.
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
