/**
 * Tries a program that was built: `deno run -A scripts/try_program.ts COMMAND [ARGUMENT …]`, or a bundle:
 * `… FILE.js`, which this Deno starts with the permissions of an installed program. It does a task with
 * tools, for which the replies are scripted; `--no-commands` first leaves out the command line, where there
 * is no jail. No network is needed.
 */
import { START_FLAGS } from "../cli/terminal/start_flags.ts";
import { run, say } from "./process.ts";

/** Calls of the scripted model: the worker process writes, the jail runs the command. */
const CALLS = [
  { name: "write_file", arguments: { path: "made.txt", content: "one\n" } },
  { name: "edit_file", arguments: { path: "made.txt", old_string: "one", new_string: "two" } },
  { name: "read_file", arguments: { path: "made.txt" } },
];
const COMMAND = { name: "bash", arguments: { command: "cat made.txt made.txt > twice.txt" } };

export interface Trial extends AsyncDisposable {
  /** Its configuration names the scripted model. */
  readonly home: string;
  /** Does the task. Throws what the program said when the files are not as they should be. */
  work(command: readonly string[], env?: Readonly<Record<string, string>>): Promise<void>;
}

/** A directory in which programs are tried one after the other. On Windows each command requires approval. */
export async function makeTrial(
  { commands = Deno.build.os !== "windows" }: { readonly commands?: boolean } = {},
): Promise<Trial> {
  const temp = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-trial-" }));
  const [home, cwd] = [`${temp}/home`, `${temp}/work`];
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  const calls = commands ? [...CALLS, COMMAND] : CALLS;
  const exchanges = calls.map(({ name, arguments: args }, at) => ({
    reply: [{ type: "tool_call", call: { id: `call_${at}`, name, arguments: JSON.stringify(args) } }],
  }));
  const lines = [{ cassette: 1 }, ...exchanges, { reply: [{ type: "text", text: "Done." }] }];
  await Deno.writeTextFile(`${home}/task.jsonl`, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await Deno.writeTextFile(
    `${home}/config.toml`,
    'default_model = "trial"\n\n[[providers]]\nname = "trial"\nkind = "replay"\nmodel = "scripted"\n' +
      `cassette = ${JSON.stringify(`${home}/task.jsonl`)}\n`,
  );
  const start = async ([program = "", ...args]: readonly string[], env = {}) =>
    await run(program, { args, cwd, env: { REASONIX_HOME: home, NO_COLOR: "1", ...env } });
  return {
    home,
    async work(command, env) {
      const done = await start([...command, "run", "--output-format", "json", "Make a file"], env);
      const made = await Promise.all(["made.txt", "twice.txt"].map((name) => textOf(`${cwd}/${name}`)));
      const wanted = commands ? ["two\n", "two\ntwo\n"] : ["two\n", ""];
      const asWanted = JSON.stringify(made) === JSON.stringify(wanted);
      if (done.code !== 0 || !asWanted || !done.output.includes('"Done."')) {
        throw new Error(`The task was not done (exit code ${done.code}):\n${done.output}`);
      }
      for (const name of ["made.txt", "twice.txt"]) await Deno.remove(`${cwd}/${name}`).catch(() => {});
    },
    [Symbol.asyncDispose]: () => Deno.remove(temp, { recursive: true }),
  };
}

async function textOf(file: string): Promise<string> {
  return await Deno.readTextFile(file).catch(() => "");
}

if (import.meta.main) {
  const without = Deno.args[0] === "--no-commands";
  await using trial = await makeTrial(without ? { commands: false } : {});
  const [program = "", ...args] = without ? Deno.args.slice(1) : Deno.args;
  const command = program.endsWith(".js")
    ? [Deno.execPath(), "run", ...START_FLAGS, "--no-config", await Deno.realPath(program)]
    : [program];
  await trial.work([...command, ...args]);
  say("The task is done");
}
