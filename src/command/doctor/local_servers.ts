import { isLoopback, type ProviderEntry, type ProviderTable } from "../../config/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { loadLocalServers, type LocalServer } from "../../provider/mod.ts";

/** A model server of this machine in the report. */
export interface LocalServerReport {
  readonly name: string;
  readonly url: string;
  readonly models: LocalServer["models"];
  /** Name of the configured provider that uses it. */
  readonly provider?: string;
  /** What would make it one; absent where it is, or lists no model. */
  readonly entry?: ProviderTable;
}

/** Looks for the usual model servers on this machine; that takes 300 ms at most. */
export async function localServerPart(
  providers: readonly ProviderEntry[],
): Promise<readonly LocalServerReport[]> {
  const { findLocalServers, proposedEntry } = await loadLocalServers();
  return (await findLocalServers()).map((server) => {
    const provider = providers.find(({ base_url }) => isSameServer(base_url, server.port));
    const entry = provider ? undefined : proposedEntry(server);
    return {
      name: server.label,
      url: server.baseUrl,
      models: server.models,
      ...(provider ? { provider: provider.name } : {}),
      ...(entry ? { entry } : {}),
    };
  });
}

function isSameServer(url: string, port: number): boolean {
  return isLoopback(url) && Number(URL.parse(url)?.port) === port;
}

const MOST_MODELS = 8;

/** Lines about a server: what it has, and the entry that would use it. */
export function localServerLines(
  { name, url, models, provider, entry }: LocalServerReport,
  texts: Texts["doctor"],
): readonly string[] {
  const shown = models.slice(0, MOST_MODELS).map(({ id, window, vision, tools }) => {
    const facts = [
      window === undefined ? "" : texts.windowOf(window),
      vision ? texts.seesImages : "",
      tools === false ? texts.noToolCalls : "",
    ];
    return `  ${id}${facts.filter(Boolean).map((fact) => `, ${fact}`).join("")}`;
  });
  const more = models.length - shown.length;
  return [
    `${name}  ${url}  ${provider === undefined ? texts.notSetUp : texts.usedBy(provider)}`,
    ...shown,
    ...(more > 0 ? [`  ${texts.moreModels(more)}`] : []),
    ...(entry ? [`  ${texts.addEntry}`, ...entryLines(entry).map((line) => `    ${line}`)] : []),
  ];
}

function entryLines(entry: ProviderTable): string[] {
  return [
    "[[providers]]",
    ...Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ];
}
