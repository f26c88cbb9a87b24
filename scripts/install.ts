/** Builds the program of a clone and installs it as the command `reasonix`: `deno task install`. */
import { START_FLAGS } from "../cli/terminal/start_flags.ts";
import { bundle } from "./bundle.ts";
import { mustRun, say } from "./process.ts";

if (import.meta.main) {
  const { path } = await bundle();
  const args = ["run", ...START_FLAGS, "--no-config", path, "install"];
  say((await mustRun(Deno.execPath(), { args, env: { PATH: Deno.env.get("PATH") ?? "" } })).trimEnd());
}
