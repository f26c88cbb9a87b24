/** The plugin rag in this process, over files of a temporary directory, and an embedding server. */
import type { PluginContext } from "../../plugins/common/plugin.ts";
import { Searcher } from "../../plugins/rag/search.ts";
import { SETTINGS, type Settings } from "../../plugins/rag/settings.ts";
import { updateIndex } from "../../plugins/rag/update.ts";
import { makeTempDir } from "./tool_context.ts";

const DIMENSIONS = 1024;

/** A deterministic embedding: hashed n-grams of characters, as counts that grow slowly. */
function ngramVector(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === "") continue;
    const isCjk = /[\u3400-\u9fff]/.test(word);
    const padded = isCjk ? word : ` ${word} `;
    for (const size of isCjk ? [1, 2] : [3, 4]) {
      for (let at = 0; at + size <= padded.length; at++) {
        let hash = 2166136261;
        for (const character of padded.slice(at, at + size)) {
          hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
        }
        const slot = ((hash ^ (hash >>> 15)) >>> 0) % dimensions;
        vector[slot] = (vector[slot] ?? 0) + 1;
      }
    }
  }
  return vector.map(Math.log1p);
}

/** An embedding server that counts; `dimensions` and `fails` may change between requests. */
export function startEmbeddingServer(dimensions = DIMENSIONS) {
  const state = { dimensions, fails: false, texts: [] as string[], requests: 0 };
  const stop = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen() {} };
  const server = Deno.serve(options, async (request) => {
    state.requests++;
    const { input } = await request.json();
    if (state.fails) return Response.json({ error: { message: "no such model" } }, { status: 404 });
    state.texts.push(...input);
    const data = input.map((text: string, index: number) => ({
      index,
      embedding: ngramVector(text, state.dimensions),
    }));
    return Response.json({ data });
  });
  const host = `127.0.0.1:${server.addr.port}`;
  return Object.assign(state, {
    host,
    entry: { name: "local", base_url: `http://${host}/v1`, max_attempts: 1 },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.finished;
    },
  });
}

type Files = Readonly<Record<string, string | Uint8Array>>;

export async function writeFiles(root: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = `${root}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    if (typeof content === "string") await Deno.writeTextFile(file, content);
    else await Deno.writeFile(file, content);
  }
}

/** An index `docs` over `docs` of a temporary workspace. */
export async function openRag(
  files: Files,
  settings: Readonly<Record<string, unknown>> = {},
  more: Partial<PluginContext> = {},
) {
  const temp = await makeTempDir();
  const { path } = temp;
  await Deno.mkdir(`${path}/docs`);
  await writeFiles(`${path}/docs`, files);
  const contextOf = (settings: Readonly<Record<string, unknown>>): PluginContext<Settings> => ({
    workspace: path,
    state: `${path}/state`,
    home: "",
    hidden: [],
    providers: [],
    entry: new URL("../../plugins/main.ts", import.meta.url).href,
    log() {},
    ...(more as object),
    settings: SETTINGS.parse({ indexes: { docs: { path: "docs" } }, ...settings }),
  });
  const call = { signal: new AbortController().signal, progress() {} };
  return {
    path,
    docs: `${path}/docs`,
    context: contextOf(settings),
    contextOf,
    update: (changed = settings) => updateIndex(contextOf(changed), "docs", call),
    search: async (query: string, changed = settings, args: Record<string, unknown> = {}) => {
      const answer = await new Searcher(contextOf(changed)).search({ query, ...args }, call);
      const data = answer.data as { results: Found[]; notes: string[] };
      return { text: answer.text, ...data };
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

interface Found {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly title: string;
  readonly uri: string;
  readonly stale?: boolean;
}
