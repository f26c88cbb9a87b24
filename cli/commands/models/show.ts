import { loadTrustedConfig } from "../../../src/assembly/mod.ts";
import { resolveModel } from "../../../src/config/mod.ts";
import { grouped } from "../../../src/view/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { textsFor } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { table } from "../../terminal/table.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { dayText, effortText, type KnownModel, knownModel, knownModelJson, ratesText } from "./known.ts";

/** Shows what is known of one model, and who says so. */
export async function show(
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
