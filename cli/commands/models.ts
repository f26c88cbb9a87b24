import { argument, type CommandGroup, entry, flag, type FlagsOf, JSON_FLAG, option } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadTrustedConfig } from "../../src/run/mod.ts";
import { loadModels } from "../../src/command/mod.ts";
import { modelsOf, type ProviderEntry, resolveModel } from "../../src/config/mod.ts";
import { errorMessage, ReasonixError, usageError } from "../../src/core/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { loadModelList, tableModels } from "../../src/provider/mod.ts";
import { loadModelReports } from "../../src/reports/mod.ts";
import { programFetch } from "../../src/util/network/fetch.ts";
import { grouped } from "../../src/view/mod.ts";

const LIST_FLAGS = { all: flag("Every model of the tables of your vendors"), json: JSON_FLAG };

/** Lists the models of the configuration and of vendors whose key there is, with what is known of each. */
async function list(this: CliContext, flags: FlagsOf<typeof LIST_FLAGS>): Promise<void> {
  const { cwd, home, env } = runPaths(this);
  const loaded = await loadTrustedConfig({ cwd, home, env }, { ignoreUntrusted: true });
  const { vendorsWithKey } = await loadModels();
  const { knownModel, knownModelJson, modelsText } = await loadModelReports();
  const entries = [...loaded.config.providers, ...vendorsWithKey(loaded)];
  const names = async (entry: ProviderEntry) =>
    flags.all ? [...new Set([...modelsOf(entry), ...await tableModels(entry, home)])] : modelsOf(entry);
  const known = await Promise.all(
    entries.map(async (entry) =>
      await Promise.all((await names(entry)).map((model) => knownModel(loaded, entry, model)))
    ),
  );
  const all = known.flat();
  const texts = await textsFor("models", this, loaded);
  const { stdout } = this.process;
  if (flags.json) stdout.json(all.map(knownModelJson));
  else stdout.write(modelsText(all, texts, outputWidth()));
}

/** Shows what is known of one model, and who says so. */
async function show(
  this: CliContext,
  flags: { readonly json?: boolean },
  reference: string,
): Promise<void> {
  const { cwd, home, env } = runPaths(this);
  const options = { cwd, home, env, flags: { default_model: reference } };
  const loaded = await loadTrustedConfig(options, { ignoreUntrusted: true });
  const waiting = loaded.needsTrust.filter(({ kind }) => kind === "provider").map(({ name }) => name);
  const { entry, model } = resolveModel(loaded.config, reference, waiting);
  const { knownModel, knownModelJson, modelText } = await loadModelReports();
  const known = await knownModel(loaded, entry, model);
  const texts = await textsFor("models", this, loaded);
  const { stdout } = this.process;
  if (flags.json) stdout.json(knownModelJson(known));
  else stdout.write(modelText(known, texts));
}

const USUAL = "https://models.dev/api.json";
const LIMIT_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Fetches tables of models and keeps them below the Reasonix home. */
async function refresh(this: CliContext, { from = USUAL }: { readonly from?: string }): Promise<void> {
  const { home } = runPaths(this);
  const texts = await textsFor("models", this);
  const text = /^https?:\/\//i.test(from) ? await download(from, texts) : await readFile(from, texts);
  const { keepModelList } = await loadModelList();
  const date = new Date().toISOString().slice(0, 10);
  const { file, providers, models, skipped } = await keepModelList(home, text, { date, source: from });
  const left = skipped === 0 ? "" : texts.skipped(grouped(skipped));
  this.process.stdout.write(
    `${texts.kept(grouped(models), grouped(providers), file)}${left}\n`,
  );
}

async function download(url: string, texts: Texts["models"]): Promise<string> {
  try {
    const response = await programFetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (!response.ok) throw new Error(`The server answered ${response.status}`);
    return await readLimited(response.body);
  } catch (error) {
    throw new ReasonixError(texts.notFetched(url, errorMessage(error)), {
      exit: "provider",
      remedy: texts.notFetchedRemedy,
    });
  }
}

async function readLimited(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MOST_BYTES) {
      throw new Error(`The answer is longer than ${MOST_BYTES / 1024 / 1024} MiB`);
    }
  }
  return text + decoder.decode();
}

async function readFile(path: string, texts: Texts["models"]): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw usageError(texts.notRead(path, errorMessage(error)), texts.notReadRemedy);
  }
}

export const modelsCommands: CommandGroup = {
  commands: {
    list: entry("List the models that can be used, with window, efforts and prices", {
      flags: LIST_FLAGS,
      run: list,
    }),
    show: entry("Show what is known of one model, and from where", {
      flags: { json: JSON_FLAG },
      args: [argument("Model: name, provider, or provider/model", "model", "models")],
      run: show,
    }),
    refresh: entry("Fetch new tables of models, in the format of models.dev", {
      flags: { from: option(`Address or file (default: ${USUAL})`, "url|file") },
      run: refresh,
    }),
  },
};
