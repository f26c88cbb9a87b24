import type { Assembly, RunPaths } from "../../../assembly/mod.ts";
import type { CommandHost } from "../../../command/mod.ts";
import { clipboardImage } from "./clipboard.ts";
import { argumentSource, commandSource } from "./completion/commands.ts";
import { fileSource, mentionSource, resourceSource, treeSource } from "./completion/files.ts";
import { Composer, type ComposerOptions } from "./composer.ts";
import { History } from "./history/history.ts";

export type { Composer, Draft } from "./composer.ts";

type Given = "onSubmit" | "palette" | "texts" | "changed" | "problem";

export interface CreateComposerOptions extends Required<Pick<ComposerOptions, Given>> {
  readonly paths: RunPaths;
  /** What commands find around them; also says which there are. */
  readonly commands: CommandHost;
  /** Knows the secrets that stay out of the history, what MCP servers offer, and which paths are hidden. */
  readonly session: () => Promise<
    Pick<Assembly, "redact" | "servers" | "workspace" | "paths" | "loaded" | "session">
  >;
  /** Lends the terminal to another program. */
  readonly lend: <T>(run: () => Promise<T>) => Promise<T>;
}

/** The composer of a directory, with its history, its files, its commands, and the user's editor. */
export function createComposer(options: CreateComposerOptions): Composer {
  const { paths: { cwd, env, home: reasonixHome }, commands, session, lend, ...rest } = options;
  const home = env("HOME") ?? env("USERPROFILE");
  const history = new History({
    path: async () => {
      const { projectDir } = await import("../../../session/mod.ts");
      return `${projectDir(reasonixHome, cwd)}/history.jsonl`;
    },
    redactor: async () => (await session()).redact,
  });
  return new Composer({
    ...rest,
    history,
    home,
    sources: [
      // The program's own are there before the session, which knows the others, is opened.
      commandSource(async () => {
        const { allCommands } = await import("../../../command/mod.ts");
        return await allCommands({ locale: commands.locale });
      }),
      commandSource(async () => (await commands.commands()).filter(({ kind }) => kind !== "builtin")),
      argumentSource(commands),
      resourceSource(async () => (await session()).servers),
      fileSource({ cwd, home }),
      treeSource({
        cwd,
        hidden: async () => {
          const { workspace } = await session();
          return (path) => workspace.hidden(path);
        },
      }),
      mentionSource(session),
    ],
    edit: async (text) => {
      const { editText } = await import("./editor.ts");
      return await editText(text, { env, lend });
    },
    clipboardImage: () => clipboardImage({ env, cwd }),
  });
}
