import { argument, type CommandGroup, entry } from "../command.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { buildWorkspace, loadTrustedConfig, withJail } from "../../src/run/mod.ts";
import { ReasonixError, usageError } from "../../src/core/mod.ts";
import { type Jail, runForwarder } from "../../src/sandbox/mod.ts";

/** Runs a command by hand in the jail that the agent's commands get. */
async function exec(this: CliContext, _flags: unknown, ...argv: string[]): Promise<void> {
  if (argv.length === 0) {
    throw usageError("No command given", "write it after --: reasonix sandbox exec -- ls");
  }
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const workspace = buildWorkspace(paths, loaded.config);
  const status = await withJail({ paths, loaded, workspace }, (jail) => statusOf(jail, argv, paths.cwd));
  this.process.exitCode = status.code;
}

function statusOf(jail: Jail, argv: readonly string[], cwd: string): Promise<Deno.CommandStatus> {
  const { command, args, env } = jail.wrap(argv, { cwd });
  try {
    return new Deno.Command(command, { args: [...args], env: { ...env }, clearEnv: true, cwd }).spawn()
      .status;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ReasonixError(`Cannot run ${argv[0]}: no such program`, { cause: error });
  }
}

/** Serves a jail with a separate network: hands connections to the proxy outside while the command runs. */
async function forward(this: CliContext, _flags: unknown, ...args: string[]): Promise<void> {
  await runForwarder(args);
  this.process.exitCode = Deno.exitCode;
}

/** One line: what is and what is not confined here. */
async function status(this: CliContext): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const workspace = buildWorkspace(paths, loaded.config);
  await withJail({ paths, loaded, workspace }, (jail) => {
    this.process.stdout.write(forReader(`${jail.describe(paths.cwd).text}\n`));
    for (const { backend, reason } of jail.data.rejected) {
      this.process.stdout.write(forReader(`${backend}: ${reason}\n`));
    }
  });
}

export const sandboxCommands: CommandGroup = {
  commands: {
    exec: entry("Run a command in the jail", { rest: argument("Program and arguments", "word"), run: exec }),
    status: entry("Show what is confined here", { run: status }),
    forward: {
      ...entry("Reach the filtering proxy from inside a jail", {
        rest: argument("Socket, port, program", "word"),
        run: forward,
      }),
      hidden: true,
    },
  },
};
