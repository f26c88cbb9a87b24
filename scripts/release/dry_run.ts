/**
 * Prepares a dry run in a checkout that is thrown away: `deno run -A scripts/release/dry_run.ts`. It writes
 * names that serve only here into cli/identity.ts, where none are decided, and the public half of a new
 * signing key. The secret half is dist/dry-run.key. Everything after it works as for a published release.
 */
import { mustRun, say } from "../process.ts";

const ROOT = new URL("../../", import.meta.url);
const IDENTITY = new URL("cli/identity.ts", ROOT);

/** Values for the constants that have none. */
const LOCAL = { NPM_NAME: "reasonix-dry-run", REPOSITORY: "dry-run/reasonix" };

/** Returns the text of cli/identity.ts with values for a dry run and its public key. */
export function dryRunIdentity(text: string, publicKey: string): string {
  const set = (code: string, name: string, pattern: string, value: string) => {
    const line = new RegExp(`(export const ${name}: string = ")${pattern}(";)`);
    return code.replace(line, (_, before, after) => before + value + after);
  };
  const named = Object.entries(LOCAL).reduce(
    (code, [name, value]) => set(code, name, '@unset[^"]*', value),
    text,
  );
  const keyed = set(named, "PUBLIC_KEY", '[^"]*', publicKey);
  if (keyed.includes('"@unset-') || !keyed.includes(`"${publicKey}"`)) {
    throw new Error("Cannot prepare a dry run: cli/identity.ts has another form than this script expects");
  }
  return keyed;
}

if (import.meta.main) {
  const directory = new URL("dist/", ROOT).pathname;
  await Deno.mkdir(directory, { recursive: true });
  const [secret, pub] = [`${directory}dry-run.key`, `${directory}dry-run.pub`];
  await mustRun("minisign", { args: ["-G", "-f", "-W", "-p", pub, "-s", secret] });
  const publicKey = (await Deno.readTextFile(pub)).trim().split("\n").at(-1) ?? "";
  await Deno.writeTextFile(IDENTITY, dryRunIdentity(await Deno.readTextFile(IDENTITY), publicKey));
  say(`${IDENTITY.pathname} has values for a dry run; do not commit it. The secret key is ${secret}`);
}
