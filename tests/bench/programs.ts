/** The programs the benchmark compares. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../../scripts/bundle.ts";
import type { Program } from "./runner.ts";

const DENO_RUN = ["run", ...START_FLAGS, "--no-config"];

/** Reasonix as `deno install` starts it, or any other command line that takes the same arguments. */
export async function reasonix(commandLine: string | undefined): Promise<Program> {
  const words = commandLine?.split(/\s+/) ??
    [Deno.execPath(), ...DENO_RUN, await built()];
  const [command = "", ...before] = words;
  return {
    name: "reasonix",
    command,
    task: () => ({
      args: [...before, "run", "--permission-mode", "danger-full-access", "Do the task."],
      env: {},
    }),
    plain: (args) => [...before, ...args],
    async prepare(home, url) {
      const folder = `${home}/.reasonix`;
      await Deno.mkdir(folder, { recursive: true });
      await Deno.writeTextFile(`${folder}/config.toml`, config(url));
    },
  };
}

async function built(): Promise<string> {
  const path = new URL("../../dist/reasonix.js", import.meta.url).pathname;
  await bundle(path);
  return path;
}

function config(url: string): string {
  return [
    'default_model = "mock"',
    "",
    "[[providers]]",
    'name = "mock"',
    'kind = "openai"',
    `base_url = "${url}"`,
    'model = "mock"',
    "",
    "[sandbox]",
    'bash = "off"',
    "",
  ].join("\n");
}

/** A script of this folder, started as Reasonix is. */
export function script(name: string, file: string): Program {
  const path = new URL(file, import.meta.url).pathname;
  const args = [...DENO_RUN, "--no-check", path];
  return {
    name,
    command: Deno.execPath(),
    task: (url) => ({ args: [...args, "Do the task."], env: { FLOOR_URL: url } }),
    plain: () => args,
    prepare: () => Promise.resolve(),
  };
}

export const FLOOR = script("floor", "./floor.ts");
export const NOTHING = script("floor", "./nothing.ts");
