import { command, JSON_FLAG } from "../command.ts";
import type { CliContext } from "../terminal/process.ts";
import { VERSION } from "../../src/util/version.ts";

function version(this: CliContext, flags: { readonly json?: boolean }): void {
  const versions = {
    reasonix: VERSION,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    typescript: Deno.version.typescript,
    target: Deno.build.target,
    event_format: 1,
  };
  this.process.stdout.exact(
    flags.json
      ? `${JSON.stringify(versions)}\n`
      : `reasonix ${VERSION}\ndeno ${versions.deno} (v8 ${versions.v8}, ${versions.target})\n`,
  );
}

export const versionCommand = command({ flags: { json: JSON_FLAG }, run: version });
