/** Stands for the agent in lifetime_test.ts: starts jobs, says so, and ends as it is told. */
import { BUILTINS, openServices, type Tool } from "../../../../src/tool/mod.ts";
import { makeToolContext } from "../../../support/tool_context.ts";

const [dir = "", mark = "", count = "0"] = Deno.args;
const bash = BUILTINS.find((one) => one.name === "bash") as Tool;
const services = openServices();
const context = makeToolContext(dir, { services });
await Promise.all(Array.from({ length: Number(count) }, async (_, job) => {
  // A child of the shell, one that left the group, and one that left the session and its parent.
  const command = job % 10 === 0
    ? `setsid -f sleep ${mark}; (sleep ${mark} &) ; sleep ${mark}`
    : `sleep ${mark}; true`;
  await bash.execute({ command, run_in_background: true }, context);
}));
Deno.addSignalListener("SIGTERM", async () => {
  await services[Symbol.asyncDispose]();
  Deno.exit(143);
});
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
await Deno.stdin.read(new Uint8Array(1));
await services[Symbol.asyncDispose]();
Deno.exit(0);
