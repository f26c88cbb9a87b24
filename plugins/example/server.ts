/** The example: two tools, a prompt and resources that change nothing, over standard input or HTTP. */
import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Plugin } from "../common/plugin.ts";
import { addTool } from "../common/tool.ts";

const STYLES = ["one sentence", "three points", "headline"];
const NAMES = ["Ada", "Grace", "世界"];

const GUIDE =
  "The plugin `example` has the tools `echo` and `wordcount`, the prompt `summarize`, this page, " +
  "and a greeting for everybody: example://greeting/{name}.\n";

export const plugin: Plugin = {
  settings: z.strictObject({}),
  register,
  commands: {
    "--http": async ([port = ""], context) => {
      if (!/^\d+$/.test(port) || Number(port) > 65535) {
        context.log(`Cannot use ${JSON.stringify(port)} for --http: give a port, from 0 to 65535`);
        return 2;
      }
      const { serveHttp } = await import("./http.ts");
      const createServer = () => {
        const server = new McpServer({ name: "example", version: "1.0.0" });
        register(server);
        return server;
      };
      await serveHttp(Number(port), createServer, context.log);
      return 0;
    },
  },
};

function register(server: McpServer): void {
  addTools(server);
  addPrompt(server);
  addResources(server);
}

function addTools(server: McpServer): void {
  addTool(server, {
    name: "echo",
    title: "Echo",
    description: "Returns the text it was given.",
    input: z.object({ text: z.string().describe("The text to return") }),
    reaches: "workspace",
  }, ({ text }) => Promise.resolve({ text }));

  addTool(server, {
    name: "wordcount",
    title: "Word count",
    description: "Counts lines, words and characters of a text, in any language.",
    input: z.object({ text: z.string().describe("The text to count") }),
    output: z.object({ lines: z.number(), words: z.number(), characters: z.number() }),
    reaches: "workspace",
  }, ({ text }) => {
    const counts = count(text);
    return Promise.resolve({ text: JSON.stringify(counts), data: counts });
  });
}

/** Characters are what a reader sees as one; words of languages without spaces count too. */
function count(text: string): { lines: number; words: number; characters: number } {
  const pieces = (
    granularity: "word" | "grapheme",
  ) => [...new Intl.Segmenter("en", { granularity }).segment(text)];
  return {
    lines: text === "" ? 0 : text.replace(/\n$/, "").split("\n").length,
    words: pieces("word").filter(({ isWordLike }) => isWordLike).length,
    characters: pieces("grapheme").length,
  };
}

function addPrompt(server: McpServer): void {
  const style = completable(
    z.string().describe("How long the summary is"),
    (typed) => STYLES.filter((known) => known.startsWith(typed)),
  ).optional();
  server.registerPrompt("summarize", {
    title: "Summarize",
    description: "Asks for a summary of what was said so far.",
    argsSchema: z.object({ style }),
  }, ({ style: chosen = "three points" }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Summarize this conversation: ${chosen}.` } }],
  }));
}

function addResources(server: McpServer): void {
  server.registerResource("guide", "example://guide", {
    title: "Guide",
    description: "What this plugin offers",
    mimeType: "text/markdown",
  }, ({ href }) => ({ contents: [{ uri: href, mimeType: "text/markdown", text: GUIDE }] }));

  const greeting = new ResourceTemplate("example://greeting/{name}", {
    list: undefined,
    complete: { name: (typed) => NAMES.filter((known) => known.startsWith(typed)) },
  });
  server.registerResource("greeting", greeting, {
    title: "Greeting",
    description: "A greeting by name",
    mimeType: "text/plain",
  }, ({ href }, { name }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: `Hello, ${decodeURIComponent(String(name))}!\n` }],
  }));
}
