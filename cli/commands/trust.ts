import { loadConfig } from "../../src/config/mod.ts";
import { formatPlace, ReasonixError } from "../../src/core/mod.ts";
import { TrustStore } from "../../src/sandbox/mod.ts";
import { terminalSafe } from "../../src/util/terminal_text.ts";
import { type CliContext, fail } from "../context.ts";
import { workingPlace } from "../place.ts";
import { executables, trustable } from "../trusted_config.ts";

interface TrustFlags {
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly revoke?: boolean;
}

/** Shows what the project brings that would run, and remembers that the user trusts it as it is now. */
export async function trust(this: CliContext, flags: TrustFlags): Promise<void> {
  try {
    const place = workingPlace(this);
    const store = new TrustStore({ home: place.home, project: place.cwd });
    if (flags.revoke) {
      await store.revoke();
      this.process.stdout.write(`Nothing in ${place.cwd} is trusted any more\n`);
      return;
    }
    if (flags.list) {
      for (const { kind, name, time } of await store.list()) {
        this.process.stdout.write(`${time.slice(0, 10)}  ${kind}  ${terminalSafe(name)}\n`);
      }
      return;
    }
    const items = executables(await loadConfig(place));
    const { untrusted } = await store.inspect(items.map((item) => trustable(place, item)));
    const waiting = items.filter((item) => untrusted.some((other) => other.definition === item.content));
    if (waiting.length === 0) {
      this.process.stdout.write("Nothing here waits to be trusted\n");
      return;
    }
    for (const item of waiting) {
      this.process.stdout.write(`${item.kind} ${terminalSafe(item.name)}  ${formatPlace(item.place)}\n`);
      this.process.stdout.write(`  ${terminalSafe(item.reason)}\n  ${terminalSafe(item.content)}\n`);
    }
    if (!flags.yes && !confirmed()) {
      this.process.stdout.write("Nothing was trusted\n");
      return;
    }
    await store.trust(untrusted);
    this.process.stdout.write(
      `Trusted ${waiting.length} of this project; a change of any of them asks again\n`,
    );
  } catch (error) {
    fail(this, error);
  }
}

function confirmed(): boolean {
  if (!Deno.stdin.isTerminal()) {
    throw new ReasonixError("Cannot ask whether to trust this: there is no terminal", {
      exit: "blocked",
      remedy: "read the list, then add --yes",
    });
  }
  return prompt("Trust all of this? Type yes:") === "yes";
}
