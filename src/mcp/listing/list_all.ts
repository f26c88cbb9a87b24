import type { Client } from "@modelcontextprotocol/client";
import { isRecord } from "../../util/json.ts";
import type { Refused } from "../transport/answer_filter.ts";
import { canonicalListing, type Listing } from "./listing.ts";

interface ListOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
  /** Entries that the answers had and the SDK does not take. */
  readonly refused: () => Refused;
}

const MAX_PAGES = 64;

/** Takes every answer as it is: one entry that is wrong must not cost the others. */
const ANYTHING = {
  "~standard": { version: 1 as const, vendor: "reasonix", validate: (value: unknown) => ({ value }) },
};

/** Asks a server for everything it offers. Of what it has no capability for, there is nothing. */
export async function listEverything(client: Client, options: ListOptions): Promise<Listing> {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const none = Promise.resolve([]);
  const optional = (items: Promise<unknown[]>) => items.catch(() => []);
  const [foundTools, foundPrompts, foundResources, templates] = await Promise.all([
    // Some servers forget to say that they have tools.
    tools ? listTools(client, options) : optional(pages(client, "tools/list", options)),
    prompts ? optional(pages(client, "prompts/list", options)) : none,
    resources ? optional(pages(client, "resources/list", options)) : none,
    resources ? optional(pages(client, "resources/templates/list", options)) : none,
  ]);
  const refused = options.refused();
  return canonicalListing({
    tools: [...foundTools, ...refused.tools],
    prompts: [...foundPrompts, ...refused.prompts],
    resources: [...foundResources, ...refused.resources],
    templates: [...templates, ...refused.resourceTemplates],
    instructions: client.getInstructions(),
  });
}

/** The SDK's own list, which it also uses for headers; one without an end as far as it is read here. */
async function listTools(client: Client, options: ListOptions): Promise<unknown[]> {
  try {
    return (await client.listTools(undefined, { ...options, cacheMode: "refresh" })).tools;
  } catch (error) {
    if (options.signal.aborted) throw error;
    return await pages(client, "tools/list", options).catch(() => Promise.reject(error));
  }
}

const KEYS = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const;

async function pages(client: Client, method: keyof typeof KEYS, options: ListOptions): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer: unknown = await client.request({ method, params }, ANYTHING, options);
    const list = isRecord(answer) ? answer[KEYS[method]] : undefined;
    if (Array.isArray(list)) items.push(...list);
    const next = isRecord(answer) ? answer.nextCursor : undefined;
    if (typeof next !== "string" || next === cursor) break;
    cursor = next;
  }
  return items;
}
