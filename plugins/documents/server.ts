/** The plugin `documents`: office files, PDFs, books, notebooks and emails as Markdown, by lines. */
import * as z from "zod";
import { type ConversionLimits, convert } from "../common/bounded.ts";
import { cleanLine, framed } from "../common/material.ts";
import { type Plugin, type PluginContext, PluginError } from "../common/plugin.ts";
import { addTool, type Call, PAGE_ARGUMENTS, pageOf } from "../common/tool.ts";
import type { DocumentResult, PageRange } from "./reading.ts";

const settings = z.strictObject({
  /** Limits of one conversion. */
  max_file_mb: z.number().positive().max(500).default(50),
  max_seconds: z.number().positive().max(600).default(60),
  max_memory_mb: z.number().min(64).max(4096).default(512),
});

type Settings = z.output<typeof settings>;

/** Conversions that a next page is read from. */
const MAX_KEPT = 4;

const facts = {
  converter: z.string(),
  original_file: z.string(),
  token_count: z.number(),
  lines: z.number(),
  pages: z.number().optional(),
};

export const plugin: Plugin<Settings> = {
  settings,
  register(server, context) {
    const reader = new DocumentReader(context);

    addTool(server, {
      name: "read_document",
      title: "Read a document",
      description: "Reads PDF, docx, xlsx, pptx, odt, epub, ipynb, eml, csv or html as Markdown.",
      input: z.object({
        path: z.string(),
        ...PAGE_ARGUMENTS,
        pages: z.string().optional().describe("1-3,7; also slides, sheets"),
      }),
      output: z.object({ ...facts, from: z.number(), to: z.number() }),
      reaches: "workspace",
      subject: { path: "path" },
    }, async ({ path, pages, ...range }, call) => {
      const document = await reader.read(path, pages, call);
      const { title, date, notes, lines } = document;
      const page = pageOf(lines, range);
      return {
        text: framed({ name: document.name, title, date, notes, lines: lines.length }, page.text),
        data: { ...factsOf(document), from: page.from, to: page.to },
      };
    });

    addTool(server, {
      name: "document_outline",
      title: "Outline of a document",
      description: "Lists headings, slides or sheets with their lines.",
      input: z.object({ path: z.string(), ...PAGE_ARGUMENTS }),
      output: z.object({
        ...facts,
        headings: z.array(z.object({ level: z.number(), title: z.string(), line: z.number() })),
      }),
      reaches: "workspace",
      subject: { path: "path" },
    }, async ({ path, ...range }, call) => {
      const document = await reader.read(path, undefined, call);
      const { name, title, date, notes, lines, outline } = document;
      const top = Math.min(...outline.map(({ level }) => level));
      const entries = outline.map(({ level, title, line }) =>
        `${"  ".repeat(level - top)}${cleanLine(title, 200)} ${name}:${line}`
      );
      const page = pageOf(entries.length > 0 ? entries : ["The document has no headings"], range);
      return {
        text: framed({ name, title, date, notes, lines: lines.length }, page.text),
        data: { ...factsOf(document), headings: outline.slice(Math.max(0, page.from - 1), page.to) },
      };
    });
  },
};

interface ReadDocument extends DocumentResult {
  /** Relative to the workspace where it is in it. */
  readonly name: string;
  readonly file: string;
  readonly lines: readonly string[];
}

function factsOf({ converter, file, markdown, lines, pages }: ReadDocument) {
  const tokens = Math.ceil(markdown.length / 4);
  const all = { converter, original_file: file, token_count: tokens, lines: lines.length };
  return pages === undefined ? all : { ...all, pages };
}

class DocumentReader {
  readonly #context: PluginContext<Settings>;
  readonly #kept = new Map<string, ReadDocument>();

  constructor(context: PluginContext<Settings>) {
    this.#context = context;
  }

  async read(path: string, pages: string | undefined, call: Call): Promise<ReadDocument> {
    const { entry, settings: { max_file_mb, max_seconds, max_memory_mb } } = this.#context;
    const ranges = pages === undefined ? undefined : pageRanges(pages);
    const { workspaceFile } = await import("../common/files.ts");
    const { file, name } = workspaceFile(path, this.#context);
    const { size, mtime } = await Deno.stat(file);
    if (size > max_file_mb * 1e6) {
      throw new PluginError(
        `Cannot read ${name}: it has over ${max_file_mb} MB`,
        "split it, or raise max_file_mb in the settings of the plugin documents",
      );
    }
    const key = JSON.stringify([file, size, mtime?.getTime(), ranges]);
    const known = this.#kept.get(key);
    if (known) return known;
    const bytes = await Deno.readFile(file, { signal: call.signal });
    const limits: ConversionLimits = { seconds: max_seconds, heapMb: max_memory_mb };
    const timer = setInterval(() => call.progress(`Converting ${name}`), 1000);
    try {
      const input = { bytes, name, ...(ranges ? { pages: ranges } : {}) };
      const result = await convert<DocumentResult>(entry, "document", input, limits, call.signal);
      const document = { ...result, name, file, lines: result.markdown.split("\n") };
      this.#kept.set(key, document);
      for (const old of [...this.#kept.keys()].slice(0, -MAX_KEPT)) this.#kept.delete(old);
      return document;
    } catch (error) {
      if (!(error instanceof PluginError) || error.message.includes(name)) throw error;
      throw new PluginError(
        `Cannot read ${name}: ${lowerFirst(error.message)}`,
        "split it, or raise max_seconds and max_memory_mb in the settings of the plugin documents",
      );
    } finally {
      clearInterval(timer);
    }
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Throws a {@linkcode PluginError} for what is not like `1-3,7`. */
function pageRanges(text: string): PageRange[] {
  return text.split(",").map((part) => {
    const [, first = "", dash, last = ""] = /^\s*(\d{1,6})\s*(-?)\s*(\d{0,6})\s*$/.exec(part) ?? [];
    const range = [Number(first), dash === "" ? Number(first) : Number(last || Infinity)] as const;
    if (first === "" || (dash === "" && last !== "") || range[0] < 1 || range[1] < range[0]) {
      throw new PluginError(`Cannot use the pages ${JSON.stringify(text)}`, 'write them as "1-3,7", from 1');
    }
    return range;
  });
}
