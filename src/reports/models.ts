import { type LoadedConfig, type ProviderEntry, withModelSettings } from "../config/mod.ts";
import type { Price, Rates } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { factsOf, type FoundFacts, type ModelInfo, modelInfo } from "../provider/mod.ts";
import { grouped } from "../view/mod.ts";
import { table } from "./table.ts";

export interface KnownModel {
  readonly name: string;
  readonly entry: ProviderEntry;
  readonly info: ModelInfo;
  /** Absent: the tables do not have the model. */
  readonly facts?: FoundFacts;
}

export async function knownModel(
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

export function knownModelJson({ name, entry, info, facts }: KnownModel): Record<string, unknown> {
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

export function modelsText(
  all: readonly KnownModel[],
  texts: Texts["models"],
  width: number | undefined,
): string {
  if (all.length === 0) return `${texts.noModel}\n`;
  const { columns, unknown } = texts;
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
      width,
    },
  );
  return `${text}${texts.mayCostMore}\n`;
}

export function modelText({ name, entry, info, facts }: KnownModel, texts: Texts["models"]): string {
  const { rows: names, unknown } = texts;
  const { contextWindow, outputLimit, price } = info;
  const said = (declared: unknown) => declared === undefined ? "" : texts.yours;
  const window = contextWindow === undefined
    ? unknown
    : contextWindow === 0
    ? texts.noCompaction
    : texts.tokens(grouped(contextWindow));
  return table([texts.columns.model, name], [
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
  ]);
}

function yes(value: boolean | undefined, texts: Texts["models"]): string {
  return value === undefined ? texts.unknown : value ? texts.yes : texts.no;
}
