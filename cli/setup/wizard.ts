import {
  Cancelled,
  chooseTarget,
  entryOf,
  keyNameOf,
  keyProblem,
  readTokens,
  type SetupAsk,
  type SetupPrompts,
  type Target,
  trialEntry,
} from "./target.ts";
import { languageNotice, textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import {
  loadConfig,
  type LoadedConfig,
  type ProviderTable,
  saveKey,
  saveProvider,
  userConfigFile,
} from "../../src/config/mod.ts";
import type { Person } from "../../src/frontend/mod.ts";
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

interface SetupOptions {
  /** The configuration to write; absent: the one of the user. */
  readonly file?: string;
  /** The chat continues afterwards. */
  readonly inChat?: boolean;
  /** Asks by questions of a session. Absent: on the terminal. */
  readonly person?: SetupPerson;
}

/** Asks for a provider, tries it and saves it. False: the user gave up, nothing was saved. */
export async function setUp(
  context: CliContext,
  { file, inChat = false, person }: SetupOptions,
): Promise<boolean> {
  const paths = runPaths(context);
  const loaded = await loadConfig(paths);
  const notice = await languageNotice(context, loaded);
  if (notice !== undefined && !person) context.process.stderr.write(`! ${notice}\n`);
  const texts = await textsFor("setup", context, loaded);
  const target = file ?? userConfigFile(paths);
  const keyFile = `${paths.home}/.env`;
  const prompts = person
    ? questionPrompts(person)
    : (await import("./terminal_prompts.ts")).terminalPrompts(texts);
  prompts.begin(texts.title);
  try {
    const answers = await askSetup(loaded, { texts, prompts });
    await saveSetup(target, keyFile, answers, texts.header);
    prompts.saved(
      [texts.wrote(target), ...(answers.key ? [texts.savedKey(keyFile)] : [])],
      inChat ? texts.askInChat : texts.askSomething,
    );
    return true;
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    prompts.cancelled(texts.nothingWritten);
    return false;
  }
}

type SetupPerson = Required<Pick<Person, "questions">> & Pick<Person, "say">;

/** The questions of the wizard as questions of a session. */
function questionPrompts({ questions, say }: SetupPerson): SetupPrompts {
  /** Explains the next question. */
  const notes: string[] = [];
  const titled = (question: string, ...more: readonly string[]) =>
    [question, ...notes.splice(0), ...more].join("\n");
  const note = (text: string) => void notes.push(text);
  return {
    begin() {},
    note,
    wait(what) {
      say(what);
      return { done: note, failed: note };
    },
    async pick(question, choices, { initial, search = false } = {}) {
      const current = Math.max(0, choices.findIndex(({ value }) => value === initial));
      const chosen = await questions.choose(
        titled(question),
        choices.map(({ value, label, hint }) => ({ value, label, ...(hint ? { detail: hint } : {}) })),
        { current, filter: search },
      );
      if (chosen === undefined) throw new Cancelled();
      return chosen;
    },
    async write({ message, example, proposed = "", secret, check }) {
      for (let more = proposed === "" && example ? [example] : [];; more = []) {
        const given = await questions.prompt(titled(message, ...more), proposed, secret ? { secret } : {});
        if (given === undefined) throw new Cancelled();
        const answer = given.trim() || proposed;
        const problem = check?.(answer);
        if (problem === undefined) return answer;
        note(problem);
      }
    },
    saved: (lines) => [...notes.splice(0), ...lines].forEach(say),
    cancelled: say,
  };
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
async function askSetup(loaded: LoadedConfig, ask: SetupAsk): Promise<SetupAnswers> {
  const { texts, prompts } = ask;
  const isUsers = loaded.layers.some(({ source, table }) =>
    source === "user" && table.providers !== undefined
  );
  const configured = isUsers ? loaded.config.providers : [];
  const target = await chooseTarget(configured, (name) => Boolean(findKey(loaded.keys, name).value), ask);
  const { key, model } = await findWorking(target, await chooseKey(target, loaded, ask), ask);
  const window = await chooseWindow(target, { key, model }, ask);
  const isOnly = configured.every(({ name }) => name === target.name);
  // A letter would answer the kit's own question for a yes.
  const isDefault = isOnly || await prompts.pick(texts.useAlways(target.name), [
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
async function chooseKey(target: Target, { keys }: LoadedConfig, ask: SetupAsk): Promise<KeyAnswer> {
  const { texts, prompts } = ask;
  const name = target.keyName;
  if (name === "") return NO_KEY;
  const { value, isSaved } = findKey(keys, name);
  if (!value) return await typeKey(target, ask);
  const place = isSaved ? texts.keyIsSaved(name, keys.file) : texts.keyIsInEnvironment(name);
  const choice = await prompts.pick(place, [
    { value: "use", label: texts.useThisKey },
    { value: "type", label: texts.typeAnother },
  ]);
  return choice === "use" ? { name, value, isNew: false } : await typeKey(target, ask);
}

async function typeKey(target: Target, { texts, prompts }: SetupAsk): Promise<KeyAnswer> {
  const name = target.keyName || keyNameOf(target.name);
  const optional = target.vendor === undefined;
  const value = await prompts.write({
    message: optional ? texts.keyOrNone(name) : texts.key(name),
    secret: true,
    check: (key) => {
      if (key === "") return optional ? undefined : texts.wrong.keyMissing;
      return keyProblem(key, target.vendor?.name, texts.wrong);
    },
  });
  return value === "" ? NO_KEY : { name, value, isNew: true };
}

interface Working {
  readonly key: KeyAnswer;
  readonly model: string;
}

/** Tries key and model until the model answers or the user wants them as they are. */
async function findWorking(target: Target, first: KeyAnswer, ask: SetupAsk): Promise<Working> {
  const { texts, prompts } = ask;
  let key = first;
  let model: string | undefined;
  while (true) {
    const found = await listLive(target, key, ask);
    if (!found.failure) model = await chooseModel(target, { listed: found.models ?? [], last: model }, ask);
    const failure = found.failure ?? await tryModel(target, { key, model: model ?? "" }, ask);
    if (!failure) return { key, model: model ?? "" };
    const next = await prompts.pick<"key" | "again" | "keep">(texts.whatNow, [
      ...(failure.auth ? [{ value: "key", label: texts.typeAnotherKey }] as const : []),
      { value: "again", label: found.failure ? texts.tryAgain : texts.tryAgainOrModel },
      ...(failure.auth ? [] : [{ value: "key", label: texts.typeAnotherKey }] as const),
      { value: "keep", label: texts.saveAllTheSame },
    ]);
    if (next === "key") key = await typeKey(target, ask);
    if (next === "keep") return { key, model: model ?? await chooseModel(target, { listed: [] }, ask) };
  }
}

async function listLive(target: Target, key: KeyAnswer, { texts, prompts }: SetupAsk) {
  const { host } = new URL(target.baseUrl);
  const wait = prompts.wait(texts.askingForModels(host));
  const found = await checkProvider(trial(target, key), AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (found.failure) wait.failed(failureText(found.failure, host, texts));
  else wait.done(found.models ? texts.listsModels(host, found.models.length) : texts.listsNone(host));
  return found;
}

async function tryModel(target: Target, { key, model }: Working, { texts, prompts }: SetupAsk) {
  const wait = prompts.wait(texts.askingModel(model));
  const failure = await askOneWord({ ...trial(target, key), model }, AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (failure) wait.failed(failureText(failure, new URL(target.baseUrl).host, texts));
  else wait.done(texts.modelAnswers(model));
  return failure;
}

/** The result in the language of the user, then the message of the provider. */
function failureText({ auth, reached, message }: CheckFailure, host: string, texts: Texts["setup"]): string {
  const result = auth ? texts.keyRefused(host) : reached ? texts.refused(host) : texts.notReached(host);
  return `${result}\n${message}`;
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
  { texts, prompts }: SetupAsk,
): Promise<string> {
  const usual = vendor?.models ?? [];
  if (listed.length === 0) {
    return await prompts.write({
      message: texts.model,
      example: texts.modelExample,
      proposed: last ?? usual[0] ?? "",
      check: (model) => model === "" ? texts.wrong.model : undefined,
    });
  }
  const initial = [last, ...usual].find((model) => model !== undefined && listed.includes(model)) ??
    listed[0];
  const choices = listed.map((model) => ({ value: model, label: model }));
  return await prompts.pick(texts.model, choices, { initial, search: listed.length > LONG_LIST });
}

/**
 * Returns the window to write down: of the server, or of the user; 0 = none, since the tables of
 * models have it or it is unknown.
 */
async function chooseWindow(
  target: Target,
  { key, model }: Working,
  { texts, prompts }: SetupAsk,
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
    prompts.note(texts.window(known));
    // What the tables of models say need not be in the file: a newer table would not count then.
    return found || target.vendor?.window ? known : 0;
  }
  const given = await prompts.write({
    message: texts.askWindow,
    proposed: USUAL_WINDOW,
    check: (tokens) => readTokens(tokens) === undefined ? texts.wrong.window : undefined,
  });
  return readTokens(given) ?? 0;
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
