/** The plugin `web`: searching, opening and searching within pages of the public network. */
import * as z from "zod";
import { convert } from "../common/bounded.ts";
import { framed } from "../common/material.ts";
import { type Plugin, type PluginContext, PluginError } from "../common/plugin.ts";
import {
  addTool,
  type Answer,
  type Call,
  count,
  MAX_PAGE_BYTES,
  PAGE_ARGUMENTS,
  pageOf,
} from "../common/tool.ts";
import { proxiesOf } from "./access.ts";
import type { FindResult } from "./find.ts";
import type { Network } from "./fetch.ts";
import type { Convert, Page, Pages } from "./pages.ts";
import { parseRange } from "./private.ts";
import { search, SEARCH_SERVICES, searchKey } from "./search.ts";

const range = z.string().refine((text) => parseRange(text) !== undefined, {
  error: "write a range of addresses, such as 10.1.0.0/16",
});

const settings = z.strictObject({
  search: z.enum(Object.keys(SEARCH_SERVICES)).optional(),
  key_env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "write the name of an environment variable")
    .optional(),
  searxng_url: z.url({ protocol: /^https?$/, error: "write the http or https address of the server" })
    .optional(),
  allow_private: z.array(range).default([]),
  cache_minutes: z.number().min(0).max(1440).default(15),
  max_mb: z.number().positive().max(50).default(5),
  timeout_seconds: z.number().positive().max(300).default(30),
}).refine(({ search, searxng_url }) => search !== "searxng" || searxng_url !== undefined, {
  path: ["searxng_url"],
  error: "SearXNG needs the address of your server",
});

type Settings = z.output<typeof settings>;

const url = z.string();

/** Workers with the same bound of their heap are the same. */
const LIMITS = { seconds: 15, heapMb: 512 };
const FIND_LIMITS = { ...LIMITS, seconds: 3 };

/** What the tools of one connection share; made by the first call. */
interface Web {
  readonly network: Network;
  readonly pages: Pages;
  readonly fetch: typeof import("./fetch.ts");
}

async function makeWeb({ settings, entry }: PluginContext<Settings>): Promise<Web> {
  // The libraries for pages load while the first request is on its way.
  const start = { bytes: new TextEncoder().encode("<p>"), url: "https://localhost/" };
  const warm = convert(entry, "page", start, LIMITS, new AbortController().signal).catch(() => {});
  const bounded: Convert = async (converter, input, signal) => {
    await warm;
    return await convert(entry, converter, input, LIMITS, signal);
  };
  const [fetch, { Pages }] = await Promise.all([import("./fetch.ts"), import("./pages.ts")]);
  const network: Network = {
    allowed: settings.allow_private.flatMap((text) => parseRange(text) ?? []),
    proxies: proxiesOf((name) => Deno.env.get(name)),
    maxBytes: settings.max_mb * 1e6,
    seconds: settings.timeout_seconds,
    resolve: fetch.resolveName,
  };
  return { network, fetch, pages: new Pages(network, bounded, settings.cache_minutes * 60_000) };
}

export const plugin: Plugin<Settings> = {
  settings,
  register(server, context) {
    let made: Promise<Web> | undefined;
    const web = () => made ??= makeWeb(context);
    const { search: service } = context.settings;
    if (service !== undefined) {
      addTool(
        server,
        {
          name: "web_search",
          title: "Search the web",
          description: "Searches the web; read results with web_open.",
          input: z.object({
            query: z.string(),
            max_results: count(1, 20).optional(),
          }),
          reaches: "network",
          subject: { query: "query" },
        },
        ({ query, max_results: count = 8 }, call) =>
          searchWeb(service, context.settings, query, count, web(), call),
      );
    }
    addTool(server, {
      name: "web_open",
      title: "Open a web page",
      description: "Opens a page, document or image: numbered lines of Markdown.",
      input: z.object({ url, ...PAGE_ARGUMENTS }),
      reaches: "network",
      subject: { url: "url" },
    }, async ({ url, offset, limit }, call) => {
      const page = await open(await web(), url, call);
      return "text" in page ? page : shown(page, offset, limit);
    });
    addTool(server, {
      name: "web_find",
      title: "Find in a web page",
      description: "Finds lines of a page by regular expression.",
      input: z.object({
        url,
        pattern: z.string(),
        max_results: count(1, 200).optional(),
        context_lines: count(0, 50).optional(),
      }),
      reaches: "network",
      subject: { url: "url" },
    }, async ({ url, pattern, max_results: maxResults = 20, context_lines: contextLines = 2 }, call) => {
      const page = await open(await web(), url, call);
      return "text" in page
        ? page
        : await found(page, { pattern, maxResults, contextLines }, context.entry, call);
    });
  },
};

/** The page, or the answer that names where it redirects. */
async function open({ pages }: Web, url: string, call: Call): Promise<Page | Answer> {
  const page = await pages.open(url, call);
  if (!("redirect" in page)) return page;
  const { href } = page.redirect;
  return { text: `${url} redirects to ${href}; call web_open with it`, data: { redirect: href } };
}

function shown(
  { url, title, date, kind, notes, lines, image }: Page,
  offset?: number,
  limit?: number,
): Answer {
  const facts = {
    url,
    ...(title === undefined ? {} : { title }),
    ...(date === undefined ? {} : { date }),
    kind,
  };
  if (image) {
    const size = `${Math.ceil(image.bytes.length / 1000)} KB`;
    return { text: `${url} · ${kind} · ${size}`, images: [image] };
  }
  const { text: shown, from, to, total } = pageOf(lines, { offset, limit });
  const text = framed({ name: url, title, date, lines: total, notes }, shown);
  // Some clients show a model the data alone.
  return { text, data: { ...facts, lines: total, from, to, text } };
}

async function found(
  { url, title, date, lines, image }: Page,
  { pattern, maxResults, contextLines }: { pattern: string; maxResults: number; contextLines: number },
  entry: string,
  { signal, progress }: Pick<Call, "signal" | "progress">,
): Promise<Answer> {
  if (image) throw new PluginError(`Cannot search ${url}: it is an image`);
  const bytes = new TextEncoder().encode(lines.join("\n"));
  const input = { bytes, pattern, maxResults, contextLines };
  const timer = setInterval(() => progress(`Searches ${url}`), 1000);
  const result = await convert<FindResult>(entry, "find", input, FIND_LIMITS, signal)
    .catch((error) => {
      if (!(error instanceof PluginError) || !/took over/.test(error.message)) throw error;
      throw new PluginError(
        `The pattern ${JSON.stringify(pattern.slice(0, 200))} took over ${FIND_LIMITS.seconds} s on ${url}`,
        "use one without nested repetitions",
      );
    })
    .finally(() => clearInterval(timer));
  const { ranges, total, isText } = result;
  const parts: string[] = [];
  let size = 0;
  for (const { from, to } of ranges) {
    const { text, to: last } = pageOf(lines.slice(0, to), { offset: from, limit: to - from + 1 });
    const part = `[#L${from}${to === from ? "" : `-L${to}`}]\n${text}`;
    size += new TextEncoder().encode(part).length;
    if (size > MAX_PAGE_BYTES && parts.length > 0) break;
    parts.push(part);
    if (last < to) break;
  }
  const left = ranges.length - parts.length;
  const more = total - result.lines.length;
  if (left > 0) parts.push(`[${left} more ranges left out; ask for fewer results or less context]`);
  else if (more > 0) parts.push(`[${more} more matching lines left out; raise max_results]`);
  const count = `${total} matching ${total === 1 ? "line" : "lines"}`;
  const notes = [count, ...(isText ? ["the pattern is no regular expression and was searched as text"] : [])];
  const text = framed({ name: url, title, date, lines: lines.length, notes }, parts.join("\n"));
  const matches = ranges.map(({ from, to }) => ({ from, to, reference: `${url}#L${from}` }));
  return { text, data: { url, total, matches, text } };
}

async function searchWeb(
  service: string,
  { key_env: keyVariable = searchKey(service), searxng_url: server }: Settings,
  query: string,
  count: number,
  web: Promise<Web>,
  call: Call,
): Promise<Answer> {
  const { network, fetch } = await web;
  const title = SEARCH_SERVICES[service]?.title ?? service;
  const timer = setInterval(() => call.progress(`Waits for ${title}`), 1000);
  try {
    const key = keyVariable === undefined ? undefined : Deno.env.get(keyVariable);
    const isOwnServer = service === "searxng";
    const hits = await search(
      { service, server, keyVariable, key },
      query,
      count,
      ({ url, ...options }) => fetch.sendRequest(network, new URL(url), options, isOwnServer, call.signal),
    );
    const lines: string[] = [];
    let size = 0;
    for (const [index, { title, url, description }] of hits.entries()) {
      const hit = [`${index + 1}\t${title === "" ? url : title}`, `\t${url}`, `\t${description}`].join("\n")
        .trimEnd();
      size += new TextEncoder().encode(hit).length;
      if (size > MAX_PAGE_BYTES) {
        lines.push(`[${hits.length - index} more results left out; lower max_results]`);
        break;
      }
      lines.push(hit);
    }
    const notes = [`${hits.length} ${hits.length === 1 ? "result" : "results"}`];
    const text = framed({ name: `${title}: ${query}`, notes }, lines.join("\n"));
    return { text, data: { service, query, results: hits } };
  } finally {
    clearInterval(timer);
  }
}
