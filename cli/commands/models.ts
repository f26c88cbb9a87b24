import { argument, type CommandGroup, entry, flag, type FlagsOf, JSON_FLAG, option } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadTrustedConfig } from "../../src/assembly/mod.ts";
import { loadModels } from "../../src/command/mod.ts";
import {
  type LoadedConfig,
  modelsOf,
  type ProviderEntry,
  resolveModel,
  withModelSettings,
} from "../../src/config/mod.ts";
import { errorMessage, type Price, type Rates, ReasonixError } from "../../src/core/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import {
  factsOf,
  type FoundFacts,
  loadModelList,
  type ModelInfo,
  modelInfo,
  tableModels,
} from "../../src/provider/mod.ts";
import { table } from "../../src/reports/mod.ts";
import { programFetch } from "../../src/util/network/fetch.ts";
import { grouped } from "../../src/view/mod.ts";

interface KnownModel {
  /** `provider/model`. */
  readonly name: string;
  readonly entry: ProviderEntry;
  readonly info: ModelInfo;
  /** Absent: the tables do not have the model. */
  readonly facts?: FoundFacts;
}

async function knownModel(
  loaded: LoadedConfig,
  whole: ProviderEntry,
  model: string,
): Promise<KnownModel> {
  const entry = withModelSettings(whole, model);
  const { home } = loaded;
  const facts = await factsOf(entry, model, home);
  const info = await modelInfo({ entry, model, home });
  return { name: `${entry.name}/${model}`, entry, info, ...(facts ? { facts } : {}) };
}

/** The levels of effort that a model has, for people; undefined where they are unknown. */
function effortText({ reasoning }: ModelInfo, texts: Texts["models"]): string | undefined {
  if (!reasoning) return undefined;
  const { thinks, levels = [], budget, toggle } = reasoning;
  if (!thinks) return texts.thinksNot;
  const off = (toggle || budget?.min === 0) && !levels.includes("none") ? ["none"] : [];
  if (levels.length > 0) return [...off, ...levels].join(" ");
  if (budget) return off.length > 0 ? texts.anyEffort : texts.anyButNone;
  return toggle ? texts.toggle : texts.asItLikes;
}

/** "2.50 in, 0.25 cached, 3.13 written, 15 out". */
function ratesText(
  { input, cachedInput, cacheWrite, output }: Rates,
  texts: Texts["models"],
): string {
  const cached = cachedInput === input ? "" : String(cachedInput);
  return texts.rates(String(input), cached, String(cacheWrite ?? ""), String(output));
}

function dayText({ date }: Pick<Price, "date">): string {
  return date === undefined ? "" : ` (${date})`;
}

function knownModelJson({ name, entry, info, facts }: KnownModel): Record<string, unknown> {
  const { contextWindow, outputLimit, vision, reasoning, price } = info;
  return {
    name,
    kind: entry.kind,
    window: contextWindow ?? null,
    output: outputLimit ?? null,
    vision,
    tools: facts?.tools ?? null,
    reasoning: reasoning ?? null,
    price: price ?? null,
    facts: facts ? { date: facts.date, source: facts.source } : null,
  };
}

const LIST_FLAGS = { all: flag("Every model of the tables of your vendors"), json: JSON_FLAG };

/** Lists the models of the configuration and of vendors whose key there is, with what is known of each. */
async function list(this: CliContext, flags: FlagsOf<typeof LIST_FLAGS>): Promise<void> {
  const { cwd, home, env } = runPaths(this);
  const loaded = await loadTrustedConfig({ cwd, home, env }, { ignoreUntrusted: true });
  const { vendorsWithKey } = await loadModels();
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
  else stdout.write(listText(all, texts));
}

function listText(all: readonly KnownModel[], texts: Texts["models"]): string {
  if (all.length === 0) return `${texts.noModel}\n`;
  const { columns, unknown } = texts;
  const width = outputWidth();
  const text = table(
    Object.values(columns),
    all.map(({ name, entry, info, facts }) => {
      const { contextWindow, outputLimit, price } = info;
      const sees = entry.vision ?? facts?.vision;
      return [
        name,
        contextWindow === undefined ? unknown : grouped(contextWindow),
        outputLimit === undefined ? unknown : grouped(outputLimit),
        sees === undefined ? unknown : sees ? texts.yes : texts.no,
        price ? String(price.input) : unknown,
        price ? String(price.cachedInput) : "",
        price ? String(price.output) : "",
        price ? [price.currency, price.date ?? ""].join(" ").trim() : "",
        effortText(info, texts) ?? unknown,
      ];
    }),
    {
      right: [columns.window, columns.reply, columns.input, columns.cached, columns.output],
      ...(width === undefined ? {} : { width }),
    },
  );
  return `${text}${texts.mayCostMore}\n`;
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
  const known = await knownModel(loaded, entry, model);
  const texts = await textsFor("models", this, loaded);
  const { stdout } = this.process;
  if (flags.json) stdout.json(knownModelJson(known));
  else stdout.write(table([texts.columns.model, known.name], rows(known, texts)));
}

function rows({ entry, info, facts }: KnownModel, texts: Texts["models"]): string[][] {
  const { rows: names, unknown } = texts;
  const { contextWindow, outputLimit, price } = info;
  const said = (declared: unknown) => declared === undefined ? "" : texts.yours;
  const window = contextWindow === undefined
    ? unknown
    : contextWindow === 0
    ? texts.noCompaction
    : texts.tokens(grouped(contextWindow));
  return [
    [names.kind, entry.kind],
    [names.address, entry.base_url],
    [names.window, window + said(entry.context_window)],
    [
      names.reply,
      outputLimit === undefined ? unknown : texts.upTo(grouped(outputLimit)) + said(entry.max_output_tokens),
    ],
    [names.images, yes(entry.vision ?? facts?.vision, texts) + said(entry.vision)],
    [names.tools, yes(facts?.tools, texts)],
    [names.effort, (effortText(info, texts) ?? unknown) + said(entry.efforts)],
    [
      names.price,
      price
        ? texts.perMillion(ratesText(price, texts), price.currency, dayText(price)) + said(entry.price)
        : unknown,
    ],
    ...(price?.tiers ?? []).map((tier) => [
      "",
      texts.above(ratesText(tier, texts), grouped(tier.above)),
    ]),
    ...(facts?.price?.cacheWrite1h === undefined || entry.price
      ? []
      : [["", texts.forAnHour(String(facts.price.cacheWrite1h))]]),
    [names.table, facts ? `${facts.date}, ${facts.source}` : texts.noTable],
  ];
}

function yes(value: boolean | undefined, texts: Texts["models"]): string {
  return value === undefined ? texts.unknown : value ? texts.yes : texts.no;
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
    throw new ReasonixError(texts.notRead(path, errorMessage(error)), {
      exit: "usage",
      remedy: texts.notReadRemedy,
    });
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
