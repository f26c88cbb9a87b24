/**
 * Makes a release: `deno task release [STEP …]`. Each step can be called alone; steps are listed by
 * `deno task release help`.
 */
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../../cli/identity.ts";
import { say } from "../process.ts";

interface Step {
  readonly about: string;
  run(): void | Promise<void>;
}

/** Throws unless everything that a published file names is decided. */
function requireIdentity(): void {
  const open = Object.entries({ NPM_NAME, REPOSITORY, PUBLIC_KEY }).filter(([, value]) => !decided(value));
  if (open.length === 0) return;
  throw new Error(
    `Cannot publish: ${open.map(([name]) => name).join(", ")} is not decided; edit cli/identity.ts`,
  );
}

const STEPS: Readonly<Record<string, Step>> = {
  identity: { about: "Stop unless the names of cli/identity.ts are decided", run: requireIdentity },
};

if (import.meta.main) {
  const [name = "help"] = Deno.args;
  const step = STEPS[name];
  if (step) await step.run();
  else for (const [key, { about }] of Object.entries(STEPS)) say(`${key.padEnd(12)} ${about}`);
}
