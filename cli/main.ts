/**
 * Entry of the program and of the worker processes that it starts: the only place that ends the
 * process.
 */
import { VERSION } from "../src/util/version.ts";

const args = Deno.args;
const isWorker = args[0]?.startsWith("--worker=") === true;
// A worker may not read it.
const launcher = isWorker ? undefined : Deno.env.get("REASONIX_LAUNCHER");

if (launcher !== undefined) {
  const { followLauncher } = await import("./terminal/launcher.ts");
  followLauncher(launcher);
}
if (isWorker) {
  const { runWorker } = await import("../src/run/tools/worker.ts");
  await runWorker(args);
} else if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
  await Deno.stdout.write(new TextEncoder().encode(`reasonix ${VERSION}\n`));
} else if (args.length === 1 && args[0] === "-v") {
  // The SDKs of Claude Code ask this first, and read a number.
  await Deno.stdout.write(new TextEncoder().encode(`${VERSION}\n`));
} else if (args.length === 0) {
  // The first prompt does not wait for the parser of command lines, which takes 6 ms.
  const { bareChat } = await import("./commands/run/chat.ts");
  Deno.exit(await bareChat());
} else {
  const { main } = await import("./app.ts");
  Deno.exit(await main(args));
}
