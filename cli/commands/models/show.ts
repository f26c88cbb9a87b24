import { loadTrustedConfig } from "../../../src/assembly/mod.ts";
import { resolveModel } from "../../../src/config/mod.ts";
import { grouped } from "../../../src/view/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { printableJson, table } from "../../terminal/table.ts";
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
  const { entry, model } = resolveModel(loaded.config, reference);
  const known = await knownModel(loaded, entry, model);
  const text = flags.json
    ? `${printableJson(JSON.stringify(knownModelJson(known), null, 2))}\n`
    : table(["MODEL", known.name], rows(known));
  this.process.stdout.write(text);
}

const UNKNOWN = "unknown";

function rows({ entry, info, facts }: KnownModel): string[][] {
  const { contextWindow, outputLimit, price } = info;
  const said = (declared: unknown) => declared === undefined ? "" : " (your configuration)";
  const window = contextWindow === undefined
    ? UNKNOWN
    : contextWindow === 0
    ? "compaction is off"
    : `${grouped(contextWindow)} tokens`;
  return [
    ["kind", entry.kind],
    ["address", entry.base_url],
    ["window", window + said(entry.context_window)],
    [
      "reply",
      outputLimit === undefined
        ? UNKNOWN
        : `up to ${grouped(outputLimit)} tokens${said(entry.max_output_tokens)}`,
    ],
    ["images", yes(entry.vision ?? facts?.vision) + said(entry.vision)],
    ["tools", yes(facts?.tools)],
    ["effort", (effortText(info) ?? UNKNOWN) + said(entry.efforts)],
    [
      "price",
      price
        ? `${ratesText(price)} ${price.currency} per million tokens${dayText(price)}${said(entry.price)}`
        : UNKNOWN,
    ],
    ...(price?.tiers ?? []).map((tier) => [
      "",
      `${ratesText(tier)} where the input is above ${grouped(tier.above)} tokens`,
    ]),
    ...(facts?.price?.cacheWrite1h === undefined || entry.price
      ? []
      : [["", `written for an hour (cache_ttl = "1h"): ${facts.price.cacheWrite1h}`]]),
    ["table", facts ? `${facts.date}, ${facts.source}` : "none: nobody told of this model"],
  ];
}

function yes(value: boolean | undefined): string {
  return value === undefined ? UNKNOWN : value ? "yes" : "no";
}
