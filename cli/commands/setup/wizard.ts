import { cancel, confirm, intro, log, outro, password, spinner, text } from "@clack/prompts";
import type { LoadedConfig } from "../../../src/config/mod.ts";
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
export async function askSetup(loaded: LoadedConfig): Promise<SetupAnswers | undefined> {
  intro("Reasonix setup");
  try {
    const isOwn = loaded.layers.some(({ source, table }) =>
      source === "user" && table.providers !== undefined
    );
    const configured = isOwn ? loaded.config.providers : [];
    const target = await chooseTarget(configured.map(({ name }) => name));
    const { key, model } = await findWorking(target, await chooseKey(target, loaded));
    const window = await chooseWindow(target, key, model);
    const others = configured.filter(({ name }) => name !== target.name);
    const isDefault = others.length === 0 || answered(
      await confirm({ message: `Use ${target.name} for every run that names no other model?` }),
    );
    const entry = entryOf(target, { keyName: key.name, model, window });
    return { entry, isDefault, ...(key.isNew ? { key: { name: key.name, value: key.value } } : {}) };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel("Nothing was written");
    return undefined;
  }
}

/** Says what was saved, and what comes next. */
export function finish(file: string, keyFile: string | undefined): void {
  log.success(
    [`Wrote ${file}`, ...(keyFile === undefined ? [] : [`Saved the key in ${keyFile}`])].join("\n"),
  );
  outro('Ask something:  reasonix run "explain this project"');
}

/** Takes a key that is there already, or asks for one. */
async function chooseKey(target: Target, { keys }: LoadedConfig): Promise<KeyAnswer> {
  const name = target.keyName;
  if (name === "") return NO_KEY;
  const saved = keys.saved().get(name);
  const value = saved ?? (keys.useEnv ? keys.env(name) : undefined);
  if (!value) return await typeKey(target);
  const place = saved ? `saved in ${keys.file}` : "in the environment";
  const choice = await pick(`${name} is ${place}`, [
    { value: "use", label: "Use this key" },
    { value: "type", label: "Type another one" },
  ]);
  return choice === "use" ? { name, value, isNew: false } : await typeKey(target);
}

async function typeKey(target: Target): Promise<KeyAnswer> {
  const name = target.keyName || keyNameOf(target.name);
  const optional = target.vendor === undefined;
  const value = (answered(
    await password({
      message: `Key (saved as ${name}${optional ? "; empty = none" : ""})`,
      clearOnError: true,
      validate: (given) => {
        const key = (given ?? "").trim();
        if (key === "") return optional ? undefined : "Paste the key that the vendor gave you";
        return keyProblem(key, target.vendor?.name);
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
async function findWorking(target: Target, first: KeyAnswer): Promise<Working> {
  let key = first;
  while (true) {
    const found = await listLive(target, key);
    const model = found.failure ? undefined : await chooseModel(target, found.models ?? []);
    const failure = found.failure ?? await tryModel(target, key, model ?? "");
    if (!failure) return { key, model: model ?? "" };
    const next = await pick<"key" | "again" | "keep">("What now?", [
      ...(failure.auth ? [{ value: "key", label: "Type another key" }] as const : []),
      { value: "again", label: model === undefined ? "Try again" : "Try again, or choose another model" },
      ...(failure.auth ? [] : [{ value: "key", label: "Type another key" }] as const),
      { value: "keep", label: "Save it all the same" },
    ]);
    if (next === "key") key = await typeKey(target);
    if (next === "keep") return { key, model: model ?? await chooseModel(target, []) };
  }
}

async function listLive(target: Target, key: KeyAnswer) {
  const { host } = new URL(target.baseUrl);
  const wait = spinner();
  wait.start(`Asking ${host} for its models`);
  const found = await checkProvider(trial(target, key), AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (found.failure) wait.error(found.failure.message);
  else wait.stop(found.models ? `${host} lists ${countOf(found.models.length)}` : `${host} lists no models`);
  return found;
}

async function tryModel(target: Target, key: KeyAnswer, model: string): Promise<CheckFailure | undefined> {
  const wait = spinner();
  wait.start(`Asking ${model} for a word`);
  const failure = await askOneWord({ ...trial(target, key), model }, AbortSignal.timeout(TRIAL_LIMIT_MS));
  if (failure) wait.error(failure.message);
  else wait.stop(`${model} answers`);
  return failure;
}

function trial(target: Target, key: KeyAnswer) {
  return {
    entry: trialEntry(target, key.name),
    version: VERSION,
    ...(key.value === "" ? {} : { apiKey: key.value }),
  };
}

function countOf(models: number): string {
  return models === 1 ? "1 model" : `${models} models`;
}

async function chooseModel({ vendor }: Target, listed: readonly string[]): Promise<string> {
  const usual = vendor?.models ?? [];
  if (listed.length === 0) {
    const proposed = usual[0] ?? "";
    return answered(
      await text({
        message: "Model",
        placeholder: proposed || "the name that the server has for it",
        ...(proposed === "" ? {} : { defaultValue: proposed }),
        validate: (value) => value?.trim() || proposed ? undefined : "Name a model",
      }),
    ).trim();
  }
  const first = usual.find((model) => listed.includes(model)) ?? listed[0];
  return await pick("Model", listed.map((model) => ({ value: model, label: model })), first);
}

/** Returns the window that the server or the table of vendors tells, else what the user says; 0 = unknown. */
async function chooseWindow(target: Target, key: KeyAnswer, model: string): Promise<number> {
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
    log.info(`Context window: ${known.toLocaleString("en")} tokens`);
    return known;
  }
  const given = answered(
    await text({
      message: "Context window of the model, in tokens (empty = unknown: long sessions are not compacted)",
      placeholder: "for example 128k",
      validate: (value) =>
        !value || readTokens(value) !== undefined ? undefined : "Give a number such as 131072 or 128k",
    }),
  );
  return readTokens(given ?? "") ?? 0;
}
