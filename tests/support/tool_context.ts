/**
 * A tool context over one directory, with the plainest path policy: reads anywhere, writes below the
 * directory.
 */
import { ReasonixError } from "../../src/core/mod.ts";
import { type ToolContext, type ToolSettings, type WorkspacePolicy } from "../../src/tool/mod.ts";
import { removeTree } from "./remove_tree.ts";

export interface ContextOverrides extends Partial<Omit<ToolContext, "settings">> {
  readonly settings?: Partial<ToolSettings>;
}

/** `dir` should be a real path; the output directory is its sibling `<dir>-output`. */
export function makeToolContext(dir: string, overrides: ContextOverrides = {}): ToolContext {
  const { settings, ...rest } = overrides;
  const env = Deno.env.toObject();
  const spawn = (argv: readonly string[]) => ({ command: argv[0] ?? "", args: argv.slice(1), env });
  return {
    callId: "call_1",
    cwd: dir,
    paths: directoryPolicy(dir),
    jail: { wrap: spawn },
    seen: new Map(),
    outputDir: `${dir}-output`,
    signal: new AbortController().signal,
    progress: () => {},
    ...rest,
    settings: {
      bashTimeoutSeconds: 60,
      minFreeDiskMb: 0,
      shell: { prefer: "auto" },
      ensureTrailingNewline: false,
      writes: "allow",
      vision: false,
      ...settings,
    },
  };
}

/** A directory that is removed at the end of the scope, with its output directory. */
export async function makeTempDir(): Promise<
  { readonly path: string; [Symbol.asyncDispose](): Promise<void> }
> {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-test-" }));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await removeTree(path);
      await removeTree(`${path}-output`).catch(() => {});
    },
  };
}

function directoryPolicy(dir: string): WorkspacePolicy {
  return {
    read: (path) => realOrFuture(absolute(dir, path)),
    async write(path) {
      const real = await realOrFuture(absolute(dir, path));
      if (real !== dir && !real.startsWith(`${dir}/`)) {
        throw new ReasonixError(`Cannot write ${path}: it is outside the workspace`);
      }
      return real;
    },
    hidden: () => false,
  };
}

function absolute(dir: string, path: string): string {
  return path.startsWith("/") ? path : `${dir}/${path}`;
}

/** The real path of what exists, plus the rest of the names. */
async function realOrFuture(path: string): Promise<string> {
  const missing: string[] = [];
  let head = path;
  while (true) {
    try {
      return [await Deno.realPath(head), ...missing].join("/").replace(/^\/\//, "/");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      const slash = head.lastIndexOf("/");
      missing.unshift(head.slice(slash + 1));
      head = head.slice(0, slash) || "/";
    }
  }
}

/** Writes files with the directories that they need. */
export async function writeFiles(
  directory: string,
  files: Record<string, string | Uint8Array>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = `${directory}/${name}`;
    await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
    if (typeof content === "string") await Deno.writeTextFile(path, content);
    else await Deno.writeFile(path, content);
  }
}
