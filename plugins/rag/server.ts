/** The plugin: two tools, resources, a prompt, and commands for people. */
import { completable, type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Plugin } from "../common/plugin.ts";
import { PluginError } from "../common/plugin.ts";
import { addTool, type Call, count } from "../common/tool.ts";
import { type Context, reachesNetwork, SETTINGS, type Settings } from "./settings.ts";

/** Search and update load with their first use. */
async function searcherOf(context: Context) {
  const { Searcher } = await import("./search.ts");
  return new Searcher(context);
}

function register(server: McpServer, context: Context): void {
  const names = Object.keys(context.settings.indexes);
  const reaches = reachesNetwork(context) ? "network" : "workspace";
  let kept: ReturnType<typeof searcherOf> | undefined;
  const searcher = () => kept ??= searcherOf(context);

  addTool(server, {
    name: "ragsearch",
    title: "Search indexes",
    description: `Finds passages by words and meaning. Indexes (default: all): ${
      names.join(", ") || "none"
    }.`,
    input: z.object({
      query: z.string(),
      indexes: z.array(z.string()).optional(),
      top_k: count(1, 50).optional(),
    }),
    reaches,
  }, async (query, call) => await (await searcher()).search(query, call));

  addTool(server, {
    name: "rag_update",
    title: "Update an index",
    description: "Brings an index up to date with its files.",
    input: z.object({ index: z.string() }),
    reaches,
  }, async ({ index }, call) => {
    const { describeUpdate, updateIndex } = await import("./update.ts");
    const report = await updateIndex(context, index, call);
    return { text: describeUpdate(context, report), data: { ...report } };
  });

  const complete = (typed: string) => names.filter((name) => name.startsWith(typed));
  const template = new ResourceTemplate("rag://{index}/{+path}", {
    list: undefined,
    complete: { index: complete },
  });
  server.registerResource("passage", template, {
    title: "Passage of an indexed file",
    description: "Lines of a file as the index has them: rag://INDEX/PATH#L10-40",
    mimeType: "text/plain",
  }, async ({ href }, { index, path }) => {
    try {
      const text = (await searcher()).read(String(index), String(path));
      return { contents: [{ uri: href, mimeType: "text/plain", text }] };
    } catch (error) {
      throw error instanceof PluginError ? new Error(error.text) : error;
    }
  });

  server.registerPrompt("load_rag", {
    title: "Load passages",
    description: "Adds the best passages for a question to the conversation.",
    argsSchema: z.object({
      query: z.string().describe("Question or words"),
      index: completable(z.string(), complete).optional(),
    }),
  }, async ({ query, index }, { mcpReq: { signal } }) => {
    const indexes = index === undefined ? undefined : [index];
    const { text } = await (await searcher()).search({ query, indexes }, { signal });
    return {
      messages: [{ role: "user", content: { type: "text", text: `Passages for: ${query}\n\n${text}` } }],
    };
  });
}

const commands: NonNullable<Plugin<Settings>["commands"]> = {
  update: async (names, context) => {
    const { describeUpdate, updateIndex } = await import("./update.ts");
    const { endConversions } = await import("../common/bounded.ts");
    const { indexesNamed } = await import("./indexes.ts");
    try {
      for (const { name } of indexesNamed(context, names)) {
        print(describeUpdate(context, await updateIndex(context, name, callOf(context))));
      }
    } finally {
      endConversions();
    }
    return 0;
  },
  status: async (names, context) => {
    print((await searcherOf(context)).status(names));
    return 0;
  },
  search: async ([query, ...indexes], context) => {
    if (query === undefined) {
      throw new PluginError(
        "Cannot search for nothing",
        "give a query: reasonix plugin rag search QUERY [INDEX…]",
      );
    }
    const { text } = await (await searcherOf(context)).search({ query, indexes }, callOf(context));
    print(text);
    return 0;
  },
};

/** A call of a person at a terminal, who sees the progress there. */
function callOf(context: Context): Pick<Call, "signal" | "progress"> {
  return {
    signal: new AbortController().signal,
    progress: (message) => Deno.stderr.isTerminal() && context.log(message),
  };
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

export const plugin: Plugin<Settings> = { settings: SETTINGS, register, commands };
