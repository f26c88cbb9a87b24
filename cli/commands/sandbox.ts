import { buildWorkspace, withJail } from "../../src/assembly/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { EXIT, ReasonixError } from "../../src/core/mod.ts";
import { runForwarder } from "../../src/sandbox/mod.ts";
import { type CliContext, fail } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";

/** Runs a command by hand in the jail that the agent's commands get. */
export async function exec(this: CliContext, _flags: unknown, ...argv: string[]): Promise<void> {
  try {
    if (argv.length === 0) {
      throw new ReasonixError("No command given", {
        exit: "usage",
        remedy: "write it after --: reasonix sandbox exec -- ls",
      });
    }
    const paths = runPaths(this);
    const loaded = await loadConfig(paths);
    const workspace = buildWorkspace(paths, loaded.config);
    const status = await withJail({ paths, loaded, workspace }, (jail) => {
      const plan = jail.wrap(argv, { cwd: paths.cwd });
      return new Deno.Command(plan.command, {
        args: [...plan.args],
        env: { ...plan.env },
        clearEnv: true,
        cwd: paths.cwd,
      }).spawn().status;
    });
    this.process.exitCode = status.code;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      this.process.stderr.write(`error: Cannot run ${argv[0]}: no such program\n`);
      this.process.exitCode = EXIT.failed;
      return;
    }
    fail(this, error);
  }
}

/** Serves a jail with a network of its own: hands connections to the proxy outside while the command runs. */
export async function forward(this: CliContext, _flags: unknown, ...args: string[]): Promise<void> {
  await runForwarder(args);
  this.process.exitCode = Deno.exitCode;
}

/** One line: what is and what is not confined here. */
export async function status(this: CliContext): Promise<void> {
  try {
    const paths = runPaths(this);
    const loaded = await loadConfig(paths);
    const workspace = buildWorkspace(paths, loaded.config);
    await withJail({ paths, loaded, workspace }, (jail) => {
      this.process.stdout.write(`${jail.describe()}\n`);
      for (const { backend, reason } of jail.data.rejected) {
        this.process.stdout.write(`${backend}: ${reason}\n`);
      }
    });
  } catch (error) {
    fail(this, error);
  }
}
