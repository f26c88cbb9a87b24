import { argument, type CommandGroup, entry } from "../command.ts";
import { forReader } from "../terminal/narrow.ts";
import { openConfig } from "../terminal/open.ts";
import { message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { buildWorkspace, withJail } from "../../src/run/mod.ts";
import { runForwarder } from "../../src/sandbox/mod.ts";

export const sandboxCommands: CommandGroup = {
  commands: {
    exec: entry("Run a command in the jail", {
      rest: argument("Program and arguments", "word"),
      async run(_flags, ...argv) {
        if (argv.length === 0) {
          throw usageError(
            message`No command given`,
            message`write it after --: reasonix sandbox exec -- ls`,
          );
        }
        const { paths, loaded } = await openConfig(this);
        const { cwd } = paths;
        const workspace = buildWorkspace(paths, loaded.config);
        const status = await withJail({ paths, loaded, workspace }, (jail) => {
          const { command, args, env } = jail.wrap(argv, { cwd });
          const options = { args: [...args], env: { ...env }, clearEnv: true, cwd };
          try {
            return new Deno.Command(command, options).spawn().status;
          } catch (error) {
            if (!(error instanceof Deno.errors.NotFound)) throw error;
            throw new ReasonixError(message`Cannot run ${argv[0] ?? ""}: no such program`, { cause: error });
          }
        });
        this.process.exitCode = status.code;
      },
    }),
    status: entry("Show what is confined here", {
      async run() {
        const { paths, loaded } = await openConfig(this);
        const workspace = buildWorkspace(paths, loaded.config);
        await withJail({ paths, loaded, workspace }, (jail) => {
          const rejected = jail.data.rejected.map(({ backend, reason }) => `${backend}: ${reason}`);
          const lines = [jail.describe(paths.cwd).text, ...rejected];
          this.process.stdout.write(forReader(lines.map((line) => `${line}\n`).join("")));
        });
      },
    }),
    // Runs inside a jail with a separate network: hands connections to the proxy outside.
    forward: {
      ...entry("Reach the filtering proxy from inside a jail", {
        rest: argument("Socket, port, program", "word"),
        async run(_flags, ...args) {
          await runForwarder(args);
          this.process.exitCode = Deno.exitCode;
        },
      }),
      hidden: true,
    },
  },
};
