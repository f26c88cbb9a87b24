/** The plugin map: the most important definitions of a workspace, and lookups of names. */
import { relative, resolve } from "node:path";
import * as z from "zod";
import { type Plugin, PluginError } from "../common/plugin.ts";
import { addTool, type Answer, PAGE_ARGUMENTS, pageOf } from "../common/tool.ts";
import type { MappedFile, Snapshot } from "./index.ts";
import { KINDS } from "./languages.ts";
import type { Definition } from "./parser.ts";

const Settings = z.strictObject({
  exclude: z.array(z.string()).default([]),
  /** Source files beyond this number are only counted. */
  max_files: z.number().int().min(1).default(20_000),
});

const Location = z.object({ path: z.string(), line: z.number() });
const Lines = { from: z.number(), to: z.number(), total: z.number() };
const SymbolList = z.object({
  symbols: z.array(Location.extend({ name: z.string(), kind: z.string(), end: z.number() })),
  ...Lines,
});

interface PageRange {
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** A definition and its file. */
interface Found {
  readonly path: string;
  readonly definition: Definition;
}

export const plugin: Plugin<z.infer<typeof Settings>> = {
  settings: Settings,
  register(server, context) {
    const open = async () => {
      const [{ SymbolIndex }, ranks] = await Promise.all([import("./index.ts"), import("./rank.ts")]);
      return { index: new SymbolIndex(context), ...ranks };
    };
    let opened: ReturnType<typeof open> | undefined;
    const ready = () => opened ??= open();

    addTool(server, {
      name: "repo_map",
      title: "Map of the repository",
      description: "Ranks the repository's definitions; cut to a token budget.",
      input: z.object({
        focus: z.string().optional().describe("Paths and words to rank by"),
        tokens: z.number().int().min(100).max(10_000).default(1_000),
      }),
      output: z.object({ shown: z.number(), definitions: z.number(), files: z.number(), tokens: z.number() }),
      reaches: "workspace",
    }, async ({ focus = "", tokens }, call) => {
      const { index, rank, renderMap } = await ready();
      const snapshot = await index.update(call);
      const words = focus.split(/[\s,]+/).filter((word) => word !== "");
      return renderMap(snapshot, rank(snapshot.files, words), tokens);
    });

    addTool(server, {
      name: "outline",
      title: "Outline of a file",
      description: "Lists the definitions of a source file.",
      input: z.object({ path: z.string(), ...PAGE_ARGUMENTS }),
      output: SymbolList,
      reaches: "workspace",
      subject: { path: "path" },
    }, async ({ path, ...page }, call) => {
      const { index } = await ready();
      const file = fileOf(await index.update(call), path, context.workspace);
      return definitionsPage(definitionsOf(file), page, `No definitions in ${file.path}`);
    });

    addTool(server, {
      name: "find_symbol",
      title: "Definitions of a name",
      description: "Finds definitions by NAME or CLASS.NAME.",
      input: z.object({ name: z.string().min(1), kind: z.enum(KINDS).optional(), ...PAGE_ARGUMENTS }),
      output: SymbolList,
      reaches: "workspace",
    }, async ({ name, kind, ...page }, call) => {
      const { index } = await ready();
      const { files } = await index.update(call);
      const ofKind = (found: readonly Found[]) =>
        found.filter(({ definition }) => definition.kind === (kind ?? definition.kind));
      const exact = ofKind(lookUp(files, name));
      const similar = exact.length > 0 ? exact : ofKind(similarTo(files, name));
      const what = `${kind ?? "symbol"} named ${name} in ${files.length} files`;
      return definitionsPage(
        similar,
        page,
        `No ${what}`,
        exact.length > 0 ? undefined : `No ${what}; similar:`,
      );
    });

    addTool(server, {
      name: "find_references",
      title: "References to a name",
      description: "Finds the lines that use a definition's name.",
      input: z.object({ name: z.string().min(1), ...PAGE_ARGUMENTS }),
      output: z.object({ references: z.array(Location), ...Lines }),
      reaches: "workspace",
    }, async ({ name, ...page }, call) => {
      const { index } = await ready();
      const { files } = await index.update(call);
      return referencesPage(files, name, page, context.workspace);
    });
  },
};

function fileOf({ files }: Snapshot, path: string, workspace: string): MappedFile {
  const wanted = relative(workspace, resolve(workspace, path)).replaceAll("\\", "/");
  const file = files.find((each) => each.path === wanted);
  if (file) return file;
  throw new PluginError(
    `Cannot outline ${path}: the map of ${workspace} has no such file`,
    "name a source file that is not ignored, hidden, binary or minified",
  );
}

function definitionsOf({ path, symbols }: MappedFile): readonly Found[] {
  return symbols.definitions.map((definition) => ({ path, definition }));
}

const SEPARATOR = /\.|::|#|->/;

/** Finds definitions of a name; the names before it are those of definitions around it. */
function lookUp(files: readonly MappedFile[], name: string): readonly Found[] {
  const parts = name.split(SEPARATOR).filter((part) => part !== "");
  const last = parts.at(-1) ?? name;
  return files.flatMap((file) => {
    const around: string[] = [];
    return definitionsOf(file).filter(({ definition }) => {
      around.length = definition.depth;
      around.push(definition.name);
      return definition.name === name || (definition.name === last && parts.length > 1 &&
        parts.every((part, index) => around.at(index - parts.length) === part));
    });
  });
}

/** Finds names that contain this one, or its last part, whatever the case; the shortest first. */
function similarTo(files: readonly MappedFile[], name: string): readonly Found[] {
  const word = (name.split(SEPARATOR).at(-1) || name).toLowerCase();
  return files.flatMap(definitionsOf)
    .filter(({ definition }) => definition.name.toLowerCase().includes(word))
    .sort((a, b) => a.definition.name.length - b.definition.name.length);
}

function definitionsPage(found: readonly Found[], range: PageRange, none: string, title?: string): Answer {
  if (found.length === 0) return { text: none, data: { symbols: [], from: 0, to: 0, total: 0 } };
  const lines = found.map(({ path, definition: { line, end, depth, text } }) =>
    `${path}:${line}${end > line ? `-${end}` : ""} ${"  ".repeat(depth)}${text}`
  );
  const { text, from, to, total } = pageOf(lines, range);
  const symbols = found.slice(from - 1, to).map(({ path, definition: { name, kind, line, end } }) => (
    { path, line, end, name, kind }
  ));
  return { text: title === undefined ? text : `${title}\n${text}`, data: { symbols, from, to, total } };
}

function referencesPage(
  files: readonly MappedFile[],
  name: string,
  range: PageRange,
  workspace: string,
): Answer {
  const last = name.split(SEPARATOR).at(-1) || name;
  const references = files.flatMap(({ path, symbols }) => {
    const lines = symbols.references.flatMap(([each, at]) => each === last || each === `.${last}` ? at : []);
    return [...new Set(lines)].sort((a, b) => a - b).map((line) => ({ path, line }));
  });
  const defined = lookUp(files, name).map(({ path, definition }) => `${path}:${definition.line}`);
  const places = defined.length === 0
    ? "no definition in the map"
    : `defined at ${defined.slice(0, 5).join(", ")}${
      defined.length > 5 ? ` and ${defined.length - 5} more` : ""
    }`;
  const title = `${references.length} references to ${last}; ${places}`;
  if (references.length === 0) return { text: title, data: { references, from: 0, to: 0, total: 0 } };
  const { offset = 1, limit = 500 } = range;
  const texts = new Map<string, readonly string[]>();
  const lines = references.map(({ path, line }, index) => {
    if (index < offset - 1 || index >= offset - 1 + limit) return `${path}:${line}`;
    if (!texts.has(path)) texts.set(path, Deno.readTextFileSync(`${workspace}/${path}`).split("\n"));
    return `${path}:${line} ${texts.get(path)?.[line - 1]?.trim().slice(0, 160).toWellFormed() ?? ""}`;
  });
  const { text, from, to, total } = pageOf(lines, range);
  return { text: `${title}\n${text}`, data: { references: references.slice(from - 1, to), from, to, total } };
}
