import { LOCAL_VENDORS, type LocalVendor, parseProvider } from "../../src/config/mod.ts";
import { checkProvider } from "../../src/provider/mod.ts";
import { VERSION } from "../../src/util/version.ts";

/** One that answers now. */
export interface LocalServer extends LocalVendor {
  readonly baseUrl: string;
  readonly models: readonly string[];
}

const LIMIT_MS = 300;

/** Finds model servers on this machine. Nothing else is asked, and no longer than the limit. */
export async function findLocalServers(known = LOCAL_VENDORS, limitMs = LIMIT_MS): Promise<LocalServer[]> {
  const signal = AbortSignal.timeout(limitMs);
  const found = await Promise.all(known.map((server) => ask(server, signal)));
  return found.filter((server) => server !== undefined);
}

async function ask(server: LocalVendor, signal: AbortSignal): Promise<LocalServer | undefined> {
  if (!await listens(server.port)) return undefined;
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const entry = parseProvider({ name: server.name, base_url: baseUrl });
  const { models, failure } = await checkProvider({ entry, version: VERSION }, signal);
  if (models) return { ...server, baseUrl, models };
  // One that wants a key is there all the same.
  return failure?.auth ? { ...server, baseUrl, models: [] } : undefined;
}

/** A closed port costs no request, and a proxy of the environment is not asked for it. */
async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
