import { type CommandRoots, commandRoots } from "../../context/mod.ts";
import { errorMessage, formatLocation } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { sortedEntries } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { type CommandFile, FileProblem, readCommandFile } from "./command_file.ts";

/** Commands that Markdown files bring. `commands` is sorted by name; every name is there once. */
export interface MarkdownCommands {
  readonly commands: readonly CommandFile[];
  /** Files that are not used, by the name they would have. */
  readonly unused: readonly UnusedFile[];
}

export interface UnusedFile {
  readonly name: string;
  /** Place and reason, such as `/w/.claude/commands/a.md:1: the block … has no end`. */
  readonly text: string;
}

const MAX_DEPTH = 4;
const MAX_FILES = 300;
const SKIPPED = new Set(["node_modules", "__pycache__"]);

/**
 * Reads all command files of the user and the project: of two with one name the one nearest to the working
 * directory counts, the project's before the user's. They are read anew each time, so that a changed file
 * counts at once. Where there is no such directory, this costs a few stat calls.
 */
export function findMarkdownCommands(places: CommandRoots): MarkdownCommands {
  const byName = new Map<string, CommandFile>();
  const unused: UnusedFile[] = [];
  let left = MAX_FILES;
  for (const { path: root, scope, within } of commandRoots(places)) {
    const fence = within === undefined ? undefined : existingRealPath(within);
    for (const { file, name } of markdownFiles(root)) {
      if (byName.has(name)) continue;
      if (left-- <= 0) {
        unused.push({ name, text: `${file}: left out: there are more than ${MAX_FILES} commands` });
        continue;
      }
      try {
        const real = existingRealPath(file) ?? file;
        if (fence !== undefined && !contains(fence, real)) {
          throw new FileProblem("left out: it is a link that leads out of the project");
        }
        // A project could have the model read what its user keeps for himself, such as .env.
        if (fence !== undefined && !/\.md$/i.test(real)) {
          throw new FileProblem("left out: it is a link to something else than a Markdown file");
        }
        byName.set(name, readCommandFile({ file, name, scope }));
      } catch (error) {
        const line = error instanceof FileProblem ? error.line : undefined;
        const place = formatLocation({ file, ...(line === undefined ? {} : { line }) });
        unused.push({ name, text: `${place}: ${errorMessage(error)}` });
      }
    }
  }
  const commands = [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  return { commands, unused };
}

/** Files of a directory with the names of their commands: `git/commit.md` is `git:commit`. */
function markdownFiles(root: string): { readonly file: string; readonly name: string }[] {
  const found: { file: string; name: string }[] = [];
  const visit = (folder: string, prefix: string, depth: number): void => {
    for (const { name, isFile, isDirectory, isSymlink } of sortedEntries(folder)) {
      const path = `${folder}/${name}`;
      if (name.startsWith(".") || SKIPPED.has(name) || found.length > MAX_FILES) continue;
      const stem = /^([^\s/:]+)\.md$/i.exec(name)?.[1];
      if ((isFile || isSymlink) && stem !== undefined) found.push({ file: path, name: prefix + stem });
      else if (isDirectory && depth < MAX_DEPTH && /^[^\s/:]+$/.test(name)) {
        visit(path, `${prefix}${name}:`, depth + 1);
      }
    }
  };
  visit(root, "", 1);
  return found;
}
