import { createWorkspace, type Workspace, type WorkspaceOptions } from "../../../src/sandbox/mod.ts";
import { removeTree } from "../../support/remove_tree.ts";

/** A real workspace next to real directories that must not be accessible. */
export interface SandboxDirs extends AsyncDisposable {
  /** Contains everything below; not writable for tools. */
  readonly base: string;
  readonly ws: string;
  readonly outside: string;
  readonly home: string;
  workspace(options?: Partial<WorkspaceOptions>): Workspace;
}

export async function sandboxDirs(): Promise<SandboxDirs> {
  // Not under /tmp, which is another directory inside the jail.
  const dir = Deno.env.get("HOME");
  const base = await Deno.realPath(
    await Deno.makeTempDir({ ...dir && { dir }, prefix: ".reasonix-sandbox-" }),
  );
  const [ws, outside, home] = [`${base}/ws`, `${base}/outside`, `${base}/home/.reasonix`];
  for (const directory of [`${ws}/src`, outside, home]) await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(`${ws}/src/a.ts`, "inside");
  await Deno.writeTextFile(`${outside}/secret.txt`, "outside");
  await Deno.writeTextFile(`${home}/.env`, "KEY=provider-key-value");
  await Deno.writeTextFile(`${home}/config.toml`, "");
  return {
    base,
    ws,
    outside,
    home,
    workspace: (options = {}) =>
      createWorkspace({ cwd: ws, roots: [ws], home, userHome: `${base}/home`, ...options }),
    [Symbol.asyncDispose]: () => removeTree(base),
  };
}

/** A test with its own directories: its name, or the options of a test that needs a program. */
export function sandboxTest(
  test: string | { readonly name: string; readonly ignore: boolean },
  run: (g: SandboxDirs) => Promise<void> | void,
): void {
  Deno.test({
    ...(typeof test === "string" ? { name: test } : test),
    async fn() {
      await using g = await sandboxDirs();
      await run(g);
    },
  });
}
