import { cancel, confirm, intro, log, outro, password, spinner, text } from "@clack/prompts";
import type { LoadedConfig } from "../../../src/config/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { loadWindow } from "../../../src/context/mod.ts";
import { askOneWord, type CheckFailure, checkProvider } from "../../../src/provider/mod.ts";
import { VERSION } from "../../../src/util/version.ts";
import { answered, Cancelled, pick } from "./prompts.ts";
import type { SetupAnswers } from "./save.ts";
import { keyProblem, readTokens } from "./shapes.ts";
import { chooseTarget, entryOf, keyNameOf, type Target, trialEntry } from "./target.ts";

/** A key as it was given; `isNew` when it is to be saved. */
interface KeyAnswer {
  readonly name: string;
  readonly value: string;
  readonly isNew: boolean;
}

const NO_KEY: KeyAnswer = { name: "", value: "", isNew: false };
const TRIAL_LIMIT_MS = 30_000;

/** Asks for a provider and tries it until it answers. Undefined when the user gives up. */
export async function askSetup(
  loaded: LoadedConfig,
  texts: Texts["setup"],
): Promise<SetupAnswers | undefined> {
  intro(texts.title);
  try {
    const isOwn = loaded.layers.some(({ source, table }) =>
      source === "user" && table.providers !== undefined
    );
    const configured = isOwn ? loaded.config.providers : [];
    const target = await chooseTarget(configured.map(({ name }) => name), texts);
    const { key, model } = await findWorking(target, await chooseKey(target, loaded, texts), texts);
    const window = await chooseWindow(target, { key, model }, texts);
    const others = configured.filter(({ name }) => name !== target.name);
    const isDefault = others.length === 0 || answered(
      await confirm({
        message: texts.useAlways(target.name),
        active: texts.yes,
        inactive: texts.no,
      }),
    );
    const entry = entryOf(target, { keyName: key.name, model, window });
    return { entry, isDefault, ...(key.isNew ? { key: { name: key.name, value: key.value } } : {}) };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel(texts.nothingWritten);
    return undefined;
  }
}

/** Says what was saved, and what comes next. */
export function finish(file: string, keyFile: string | undefined, texts: Texts["setup"]): void {
  log.success(
    [texts.wrote(file), ...(keyFile === undefined ? [] : [texts.savedKey(keyFile)])].join("\n"),
  );
  outro(texts.askSomething);
}

/** Takes a key that is there already, or asks for one. */
async function chooseKey(target: Target, { keys }: LoadedConfig, texts: Texts["setup"]): Promise<KeyAnswer> {
  const name = target.keyName;
  if (name === "") return NO_KEY;
  const saved = keys.saved().get(name);
  const value = saved ?? (keys.useEnv ? keys.env(name) : undefined);
  if (!value) return await typeKey(target, texts);
  const place = saved ? texts.keyIsSaved(name, keys.file) : texts.keyIsInEnvironment(name);
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
      message: optional ? texts.keyOrNone(name) : texts.key(name),
      clearOnError: true,
      validate: (given) => {
        const key = (given ?? "").trim();
        if (key === "") return optional ? undefined : texts.wrong.keyMissing;
        return keyProblem(key, target.vendor?.name, texts.wrong);
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
  while (true) {
    const found = await listLive(target, key, texts);
    const model = found.failure ? undefined : await chooseModel(target, found.models ?? [], texts);
    const failure = found.failure ?? await tryModel(target, { key, model: model ?? "" }, texts);
    if (!failure) return { key, model: model ?? "" };
    const next = await pick<"key" | "again" | "keep">(texts.whatNow, [
      ...(failure.auth ? [{ value: "key", label: texts.typeAnotherKey }] as const : []),
      { value: "again", label: model === undefined ? texts.tryAgain : texts.tryAgainOrModel },
      ...(failure.auth ? [] : [{ value: "key", label: texts.typeAnotherKey }] as const),
      { value: "keep", label: texts.saveAllTheSame },
    ]);
    if (next === "key") key = await typeKey(target, texts);
    if (next === "keep") return { key, model: model ?? await chooseModel(target, [], texts) };
  }
}

async function listLive(target: Target, key: KeyAnswer, texts: Texts["setup"]) {
  const { host } = new URL(target.baseUrl);
  const wait = spinner();
  wait.start(texts.askingForModels(host));
  const found = await checkProvider(trial(target, key), AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (found.failure) wait.error(found.failure.message);
  else wait.stop(found.models ? texts.listsModels(host, found.models.length) : texts.listsNone(host));
  return found;
}

async function tryModel(
  target: Target,
  { key, model }: Working,
  texts: Texts["setup"],
): Promise<CheckFailure | undefined> {
  const wait = spinner();
  wait.start(texts.askingModel(model));
  const failure = await askOneWord({ ...trial(target, key), model }, AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (failure) wait.error(failure.message);
  else wait.stop(texts.modelAnswers(model));
  return failure;
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
  listed: readonly string[],
  texts: Texts["setup"],
): Promise<string> {
  const usual = vendor?.models ?? [];
  if (listed.length === 0) {
    const proposed = usual[0] ?? "";
    return answered(
      await text({
        message: texts.model,
        placeholder: proposed || texts.modelExample,
        ...(proposed === "" ? {} : { defaultValue: proposed }),
        validate: (value) => value?.trim() || proposed ? undefined : texts.wrong.model,
      }),
    ).trim();
  }
  const first = usual.find((model) => listed.includes(model)) ?? listed[0];
  return await pick(texts.model, listed.map((model) => ({ value: model, label: model })), first);
}

/** Returns the window that the server or the table of vendors tells, else what the user says; 0 = unknown. */
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
    fetch: globalThis.fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  const known = found?.tokens ?? (model === target.vendor?.models[0] ? target.vendor.window : undefined);
  if (known !== undefined) {
    log.info(texts.window(known));
    return known;
  }
  const given = answered(
    await text({
      message: texts.askWindow,
      placeholder: texts.windowExample,
      validate: (value) => !value || readTokens(value) !== undefined ? undefined : texts.wrong.window,
    }),
  );
  return readTokens(given ?? "") ?? 0;
}
