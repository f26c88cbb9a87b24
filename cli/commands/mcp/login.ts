import { loadTrustedConfig, type RunPaths } from "../../../src/assembly/mod.ts";
import { listServers, type LoadedConfig, lookUpSecret } from "../../../src/config/mod.ts";
import { EXIT, isAbort, ReasonixError, textOf } from "../../../src/core/mod.ts";
import { loadSignIn, type McpServerSpec, serverSpecs, type SignedInServer } from "../../../src/mcp/mod.ts";
import { openInBrowser } from "../../../src/util/network/browser.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { LineReader } from "../../terminal/line_reader.ts";
import { forReader } from "../../terminal/narrow.ts";
import type { CliContext } from "../../terminal/process.ts";
import { onSignals } from "../../terminal/signals.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { requireServer } from "./open.ts";

interface LoginFlags {
  readonly print?: boolean;
}

/** Signs the user in at a server, in the browser. */
export async function login(this: CliContext, flags: LoginFlags, name: string): Promise<void> {
  const paths = runPaths(this);
  const { loaded, spec } = await configured(paths, name);
  const { stdout, stderr } = this.process;
  const { signIn } = await loadSignIn();
  const life = new AbortController();
  const stopped = onSignals({
    stop: () => life.abort(new DOMException("Interrupted", "AbortError")),
    exit: Deno.exit,
  });
  try {
    const { issuer, scope } = await signIn(spec, {
      home: paths.home,
      secret: (variable) => lookUpSecret(variable, loaded.keys),
      visit: (address) => {
        const opened = !flags.print && openInBrowser(address, [paths.cwd]);
        const what = opened ? "A browser was opened for the sign-in; its address is" : "To sign in, visit";
        // Never broken into lines: it is to be copied.
        stdout.write(`${what}\n\n  ${address.href}\n\n`);
        const paste = Deno.stdin.isTerminal()
          ? " If the browser is on another machine, paste the address at which it ends."
          : "";
        stderr.write(`· Waiting for the end of the sign-in.${paste}\n`);
      },
      ...(Deno.stdin.isTerminal() ? { pasted: pastedLines(life.signal) } : {}),
      refused: (why) => stderr.write(`· Not taken: ${textOf(why)}\n`),
      signal: life.signal,
    });
    const rights = scope === undefined ? "" : `, rights: ${oneLine(scope, 300)}`;
    stdout.write(forReader(`Signed in at ${name} (${oneLine(issuer, 200)}${rights})\n`));
    stdout.write(forReader(`Try it: reasonix mcp test ${name}\n`));
  } catch (error) {
    if (!isAbort(error)) throw error;
    stderr.write("Interrupted; nothing was kept\n");
    this.process.exitCode = EXIT.interrupt;
  } finally {
    stopped();
    life.abort();
  }
}

/** Gives tokens back to those who issued them, and forgets them. */
export async function logout(this: CliContext, _flags: unknown, name: string): Promise<void> {
  const paths = runPaths(this);
  const { signOut } = await loadSignIn();
  const { loaded, servers } = await toLeave(paths, name);
  const { stdout, stderr } = this.process;
  const revoked: string[] = [];
  let known = false;
  for (const server of servers) {
    const left = await signOut(server, {
      home: paths.home,
      secret: (variable) => lookUpSecret(variable, loaded.keys),
    });
    known ||= left.known;
    revoked.push(...left.revoked);
    for (const problem of left.problems) {
      stderr.write(
        `· The tokens could not be given back and are good until they run out: ${oneLine(problem, 300)}\n`,
      );
    }
  }
  const told = revoked.length === 0 ? "" : `; ${oneLine(revoked.join(", "), 300)} took the tokens back`;
  stdout.write(forReader(known ? `Signed out of ${name}${told}\n` : `You are not signed in at ${name}\n`));
}

/**
 * The servers of a name: the one of the configuration, else those that the user signed in at when their entry
 * had this name. One that is in use under another name is left to that.
 */
async function toLeave(
  paths: RunPaths,
  name: string,
): Promise<{ readonly loaded: LoadedConfig; readonly servers: readonly SignedInServer[] }> {
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const isDescribed = listServers(loaded).some((row) => row.name === name);
  const { signedInAs } = await loadSignIn();
  const urls = isDescribed ? [] : await signedInAs(name, paths.home);
  if (urls.length === 0) {
    return await configured(paths, name).then(({ spec }) => ({ loaded, servers: [spec] }));
  }
  const others = loaded.config.plugins.filter(({ url = "" }) => urls.some((each) => isSame(each, url)));
  const [other] = others;
  if (other) {
    throw new ReasonixError(`Cannot sign out of "${name}": its sign-in is that of "${other.name}" now`, {
      exit: "usage",
      remedy: `reasonix mcp logout ${other.name}`,
    });
  }
  return { loaded, servers: urls.map((url) => ({ name, url, headers: {}, oauth: undefined })) };
}

function isSame(address: string, other: string): boolean {
  return URL.parse(address)?.href === URL.parse(other)?.href;
}

async function* pastedLines(signal: AbortSignal): AsyncGenerator<string> {
  const lines = new LineReader();
  for (let line = await lines.next(signal); line !== undefined; line = await lines.next(signal)) yield line;
}

/** A server of the configuration, whether it is switched on or not. */
async function configured(
  paths: RunPaths,
  name: string,
): Promise<{ readonly loaded: LoadedConfig; readonly spec: McpServerSpec }> {
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  requireServer(listServers(loaded), name);
  const entries = loaded.config.plugins.filter((entry) => entry.name === name);
  const [spec] = serverSpecs(entries, { cwd: paths.cwd, callSeconds: 0 });
  if (!spec) throw new ReasonixError(`The MCP server "${name}" does not count here`, { exit: "usage" });
  return { loaded, spec };
}
