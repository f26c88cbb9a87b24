import type { Translate } from "../../translate.ts";

/** Texts of `reasonix models`. */
export const texts = (t: Translate) => ({
  unknown: t`unknown`,
  yes: t`yes`,
  no: t`no`,
  columns: {
    model: t`MODEL`,
    window: t`WINDOW`,
    reply: t`REPLY`,
    images: t`IMAGES`,
    input: t`IN`,
    cached: t`CACHED`,
    output: t`OUT`,
    unit: t`PER MILLION`,
    effort: t`EFFORT`,
  },
  rows: {
    kind: t`kind`,
    address: t`address`,
    window: t`window`,
    reply: t`reply`,
    images: t`images`,
    tools: t`tools`,
    effort: t`effort`,
    price: t`price`,
    table: t`table`,
  },
  noModel: t`No model is configured; reasonix setup sets one up`,
  mayCostMore: t`Long requests and writing to the cache may cost more: reasonix models show MODEL`,
  yours: t` (your configuration)`,
  noCompaction: t`compaction is off`,
  tokens: (count: string) => t`${count} tokens`,
  upTo: (count: string) => t`up to ${count} tokens`,
  rates: (input: string, cached: string, written: string, output: string) =>
    t`${[
      t`${input} in`,
      ...(cached ? [t`${cached} cached`] : []),
      ...(written ? [t`${written} written`] : []),
      t`${output} out`,
    ]}`,
  perMillion: (rates: string, currency: string, day: string) =>
    t`${rates} ${currency} per million tokens${day}`,
  above: (rates: string, tokens: string) => t`${rates} where the input is above ${tokens} tokens`,
  forAnHour: (price: string) => t`written for an hour (cache_ttl = "1h"): ${price}`,
  noTable: t`none: unknown model`,
  thinksNot: t`does not think`,
  anyEffort: t`any`,
  anyButNone: t`any but none`,
  toggle: t`none, or thinking`,
  asItLikes: t`thinks as it likes`,
  kept: (models: string, providers: string, file: string) =>
    t`${models} models of ${providers} providers are kept in ${file}`,
  skipped: (count: string) => t`; ${count} could not be read`,
  notFetched: (url: string, why: string) => t`Cannot fetch ${url}: ${why}`,
  notFetchedRemedy:
    t`check the network, or give a file with --from; the tables that are there stay as they are`,
  notRead: (path: string, why: string) => t`Cannot read ${path}: ${why}`,
  notReadRemedy: t`give a file or an address in the format of https://models.dev/api.json`,
});
