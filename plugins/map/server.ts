/** The plugin map: the most important definitions of a workspace, and lookups of names. */
import * as z from "zod";
import { type Plugin, PluginError } from "../common/plugin.ts";
import { addTool, type Answer, pageOf } from "../common/tool.ts";
import type { MappedFile } from "./index.ts";
import { KINDS } from "./languages.ts";
import type { Definition } from "./parser.ts";

const Settings = z.strictObject({
  /** Patterns of ignore files: only matching files are read. */
  include: z.array(z.string()).optional(),
  exclude: z.array(z.string()).default([]),
  /** Source files beyond this number are only counted. */
  max_files: z.number().int().min(1).default(20_000),
});

const page = { from: z.number(), to: z.number(), total: z.number() };
const location = { path: z.string(), line: z.number() };
const DEFINITION = z.object({ ...location, end: z.number(), name: z.string(), kind: z.string() });
const DEFINITIONS = z.object({ definitions: z.array(DEFINITION), ...page });

const MAX_TOKENS = 10_000;
const MAX_SIMILAR = 20;
/** As `PAGE_ARGUMENTS`, in a third of the tokens: four tools have them. */
const line = z.number().min(1).transform(Math.floor).optional();
const range = { offset: line, limit: line };
type PageRange = Parameters<typeof pageOf>[1];

interface Found {
  readonly path: string;
  readonly definition: Definition;
}

export const plugin: Plugin<z.infer<typeof Settings>> = {
  settings: Settings,
  register(server, context) {
    const { workspace } = context;
    const open = async () => {
      const [{ SymbolIndex }, ranks] = await Promise.all([import("./index.ts"), import("./rank.ts")]);
      return { index: new SymbolIndex(context), ...ranks };
    };
    let opened: ReturnType<typeof open> | undefined;
    const ready = () => opened ??= open();

    addTool(server, {
      name: "repo_map",
      title: "Map of the repository",
      description: "Ranks the repository's definitions within a token budget.",
      input: z.object({
        focus: z.string().optional().describe("Paths, words"),
        tokens: z.number().min(100).optional().meta({ minimum: undefined }),
      }),
      output: z.object({ shown: z.number(), definitions: z.number(), files: z.number(), tokens: z.number() }),
      reaches: "workspace",
    }, async ({ focus = "", tokens = 1_000 }, call) => {
      const { index, rank, renderMap } = await ready();
      const snapshot = await index.update(call);
      const words = focus.split(/[\s,]+/).filter((word) => word !== "");
      const make = () => renderMap(snapshot, rank(snapshot.files, words), Math.min(tokens, MAX_TOKENS));
      return index.answer(snapshot, JSON.stringify([words, tokens]), make);
    });

    addTool(server, {
      name: "outline",
      title: "Outline of a file",
      description: "Lists a file's definitions.",
      input: z.object({ path: z.string(), ...range }),
      output: DEFINITIONS,
      reaches: "workspace",
      subject: { path: "path" },
    }, async ({ path, ...lines }, call) => {
      const { files } = await (await ready()).index.update(call);
      const { relative, resolve } = await import("node:path");
      const wanted = relative(workspace, resolve(workspace, path)).replaceAll("\\", "/");
      const file = files.find((each) => each.path === wanted);
      if (!file) {
        throw new PluginError(
          `Cannot outline ${path}: the map of ${workspace} has no such file`,
          "name a source file that is not ignored, hidden, binary or minified",
        );
      }
      return definitionsPage(definitionsOf(file), lines, `No definitions in ${wanted}`);
    });

    addTool(server, {
      name: "find_symbol",
      title: "Definitions of a name",
      description: "Finds definitions by NAME or CLASS.NAME.",
      input: z.object({ name: z.string(), kind: z.string().optional(), ...range }),
      output: DEFINITIONS,
      reaches: "workspace",
    }, async ({ name, kind, ...lines }, call) => {
      const { files } = await (await ready()).index.update(call);
      if (kind !== undefined && !KINDS.some((each) => each === kind)) {
        throw new PluginError(`Cannot find definitions of kind ${kind}`, `use one of ${KINDS.join(", ")}`);
      }
      const isWanted = ({ definition }: Found) => kind === undefined || definition.kind === kind;
      const exact = lookUp(files, name).filter(isWanted);
      const none = `No ${kind ?? "definition"} named ${name} in ${files.length} files`;
      if (exact.length > 0) return definitionsPage(exact, lines, none);
      return definitionsPage(similarTo(files, name).filter(isWanted), lines, none, `${none}; similar:\n`);
    });

    addTool(server, {
      name: "find_references",
      title: "References to a name",
      description: "Lists the uses of a name.",
      input: z.object({ name: z.string(), ...range }),
      output: z.object({ references: z.array(z.object(location)), ...page }),
      reaches: "workspace",
    }, async ({ name, ...lines }, call) => {
      const { files } = await (await ready()).index.update(call);
      return referencesPage(files, name, lines, workspace);
    });
  },
};

function definitionsOf({ path, symbols }: MappedFile): readonly Found[] {
  return symbols.definitions.map((definition) => ({ path, definition }));
}

function partsOf(name: string): readonly string[] {
  return name.split(/\.|::|#|->/).filter((part) => part !== "");
}

/** Finds definitions of a name; the names before it are those of definitions around it. */
function lookUp(files: readonly MappedFile[], name: string): readonly Found[] {
  const parts = partsOf(name);
  return files.flatMap((file) => {
    const around: string[] = [];
    return definitionsOf(file).filter(({ definition }) => {
      around.length = definition.depth;
      const { owner } = definition;
      const path = [...around, ...(owner === undefined ? [] : [owner]), definition.name];
      around.push(definition.name);
      return definition.name === name || (parts.length > 1 &&
        parts.every((part, index) => path.at(index - parts.length) === part));
    });
  });
}

/** Finds names that contain the last part of this one in any case; the shortest first. */
function similarTo(files: readonly MappedFile[], name: string): readonly Found[] {
  const word = (partsOf(name).at(-1) ?? name).toLowerCase();
  return files.flatMap(definitionsOf)
    .filter(({ definition }) => definition.name.toLowerCase().includes(word))
    .sort((a, b) => a.definition.name.length - b.definition.name.length)
    .slice(0, MAX_SIMILAR);
}

function definitionsPage(found: readonly Found[], range: PageRange, none: string, title = ""): Answer {
  if (found.length === 0) return { text: none, data: { definitions: [], from: 0, to: 0, total: 0 } };
  const lines = found.map(({ path, definition: { line, end, depth, text } }) =>
    `${path}:${line}${end > line ? `-${end}` : ""} ${"  ".repeat(depth)}${text}`
  );
  const { text, from, to, total } = pageOf(lines, range);
  const definitions = found.slice(from - 1, to)
    .map(({ path, definition: { name, kind, line, end } }) => ({ path, line, end, name, kind }));
  return { text: title + text, data: { definitions, from, to, total } };
}

function referencesPage(
  files: readonly MappedFile[],
  name: string,
  range: PageRange,
  workspace: string,
): Answer {
  const last = partsOf(name).at(-1) ?? name;
  const references = files.flatMap(({ path, symbols }) => {
    const lines = symbols.references.filter(([each]) => each === last || each === `.${last}`);
    return [...new Set(lines.flatMap(([, each]) => each))].sort((a, b) => a - b).map((line) => ({
      path,
      line,
    }));
  });
  const defined = lookUp(files, name).map(({ path, definition }) => `${path}:${definition.line}`);
  const more = defined.length > 5 ? ` and ${defined.length - 5} more` : "";
  const title = `${references.length} reference${references.length === 1 ? "" : "s"} to ${last}; ` +
    (defined.length === 0
      ? "no definition in the map"
      : `defined at ${defined.slice(0, 5).join(", ")}${more}`);
  if (references.length === 0) return { text: title, data: { references, from: 0, to: 0, total: 0 } };
  const texts = new Map<string, readonly string[]>();
  const lineOf = (path: string, line: number) => {
    if (!texts.has(path)) texts.set(path, Deno.readTextFileSync(`${workspace}/${path}`).split("\n"));
    return texts.get(path)?.[line - 1]?.trim().slice(0, 160).toWellFormed() ?? "";
  };
  const { offset = 1, limit = 500 } = range;
  const isShown = (index: number) => index >= offset - 1 && index < offset - 1 + limit;
  const lines = references.map(({ path, line }, index) =>
    `${path}:${line}${isShown(index) ? ` ${lineOf(path, line)}` : ""}`
  );
  const { text, from, to, total } = pageOf(lines, range);
  return { text: `${title}\n${text}`, data: { references: references.slice(from - 1, to), from, to, total } };
}
