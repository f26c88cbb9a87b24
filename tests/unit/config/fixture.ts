/** A Reasonix home and a project in real directories. */
import { loadConfig, type LoadedConfig, type LoadOptions } from "../../../src/config/mod.ts";
import { removeTree } from "../../support/remove_tree.ts";

export interface Fixture extends AsyncDisposable {
  readonly home: string;
  readonly cwd: string;
  /** Writes a file below the root of both directories, such as `home/config.toml`, and returns its path. */
  write(path: string, text: string | Uint8Array): string;
  load(options?: Partial<LoadOptions> & { variables?: Record<string, string> }): Promise<LoadedConfig>;
}

/** @param files texts by path, such as `{ "project/reasonix.toml": "…" }` */
export function configFixture(files: Record<string, string> = {}): Fixture {
  const root = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "reasonix-config-" }));
  const home = `${root}/home`;
  const cwd = `${root}/project`;
  Deno.mkdirSync(home);
  Deno.mkdirSync(cwd);
  const write = (path: string, text: string | Uint8Array) => {
    const file = `${root}/${path}`;
    Deno.mkdirSync(file.replace(/[^/]*$/, ""), { recursive: true });
    if (typeof text === "string") Deno.writeTextFileSync(file, text);
    else Deno.writeFileSync(file, text);
    return file;
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return {
    home,
    cwd,
    write,
    load: ({ variables = {}, ...options } = {}) =>
      loadConfig({
        cwd,
        home,
        env: (name) => ({ HOME: "/home/someone", ...variables } as Record<string, string>)[name],
        ...options,
      }),
    [Symbol.asyncDispose]: () => removeTree(root),
  };
}
