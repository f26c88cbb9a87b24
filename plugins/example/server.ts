import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import * as z from "zod";

const STYLES = ["one sentence", "three points", "headline"];
const NAMES = ["Ada", "Grace", "世界"];

const GUIDE =
  "The plugin `example` has the tools `echo` and `wordcount`, the prompt `summarize`, this page, " +
  "and a greeting for everybody: example://greeting/{name}.\n";

/** The plugin, new for each connection (stdio) or request (HTTP). */
export function createServer(): McpServer {
  const server = new McpServer({ name: "example", version: "1.0.0" }, {
    instructions: "Two small tools that change nothing: echo a text, count its words.",
  });
  addTools(server);
  addPrompt(server);
  addResources(server);
  return server;
}

function addTools(server: McpServer): void {
  server.registerTool("echo", {
    title: "Echo",
    description: "Returns the text it was given.",
    inputSchema: z.object({ text: z.string().describe("The text to return") }),
    annotations: { readOnlyHint: true },
  }, ({ text }) => ({ content: [{ type: "text", text }] }));

  server.registerTool("wordcount", {
    title: "Word count",
    description: "Counts lines, words and characters of a text, in any language.",
    inputSchema: z.object({ text: z.string().describe("The text to count") }),
    outputSchema: z.object({ lines: z.number(), words: z.number(), characters: z.number() }),
    annotations: { readOnlyHint: true },
  }, ({ text }) => {
    const counts = count(text);
    return { content: [{ type: "text", text: JSON.stringify(counts) }], structuredContent: counts };
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
