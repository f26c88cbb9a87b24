import { loadTrustedConfig, type RunPaths } from "../../../src/assembly/mod.ts";
import {
  listServers,
  loadConfig,
  loadServerEdits,
  lookUpSecret,
  mcpJsonFile,
  projectConfigFile,
  removeKeys,
  userConfigFile,
  vendorHosts,
} from "../../../src/config/mod.ts";
import { formatPlace, ReasonixError } from "../../../src/core/mod.ts";
import { loadSignOut, serverSpecs } from "../../../src/mcp/mod.ts";
import { readSmallText } from "../../../src/path/probe.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { forReader } from "../../terminal/narrow.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { changedLines, writeChange, writing } from "./change.ts";

interface RemoveFlags {
  readonly project?: boolean;
  readonly user?: boolean;
  /** Its secrets go too; absent: a person is asked, and without one they stay. */
  readonly forgetSecret?: boolean;
}

/** Takes a server out of the file that describes it. Everything else in the file stays as it is. */
export async function remove(this: CliContext, flags: RemoveFlags, name: string): Promise<void> {
  const paths = runPaths(this);
  const { removeServer } = await loadServerEdits();
  const places = [
    { whose: "project", path: projectConfigFile(paths.cwd) },
    { whose: "project", path: mcpJsonFile(paths.cwd) },
    { whose: "user", path: userConfigFile(paths) },
    { whose: "user", path: mcpJsonFile(paths.home) },
  ] as const;
  const wanted = places.filter(({ whose }) => flags[whose] || (!flags.project && !flags.user));
  const found: { whose: "project" | "user"; change: Parameters<typeof writeChange>[0] }[] = [];
  for (const { whose, path } of wanted) {
    const change = await removeServer(path, name);
    if (change) found.push({ whose, change });
  }
  const [first, ...others] = found;
  if (!first) throw await unknown(name, paths);
  if (others.some(({ whose }) => whose !== first.whose)) {
    const files = found.map(({ change }) => change.path).join(" and ");
    throw new ReasonixError(`Cannot remove "${name}": it stands in ${files}`, {
      exit: "usage",
      remedy: "say which one: add --project or --user",
    });
  }
  // What cannot be read is no reason to keep the entry, which may be what is wrong.
  const before = await remoteServers(paths).catch(() => undefined);
  await writeChange(first.change, { shared: first.whose === "project" });
  this.process.stdout.write(forReader(`Removed "${name}" from ${first.change.path}\n`));
  this.process.stdout.exact(changedLines(this, first.change));
  if (before) await forgetSignIn(this, paths, { name, before });
  await forgetSecrets(this, first.change, { paths, files: places.map(({ path }) => path), flags });
  const next = listServers(await loadConfig(paths)).find((row) => row.name === name);
  if (next?.place) {
    this.process.stdout.write(forReader(`From now on the one in ${formatPlace(next.place)} counts\n`));
  }
}

/**
 * Takes the secrets out of the home's `.env` that only this entry named. Projects elsewhere may name them
 * too, so they go only when that is asked for.
 */
async function forgetSecrets(
  context: CliContext,
  { before, after }: { readonly before: string; readonly after: string },
  { paths, files, flags }: {
    readonly paths: RunPaths;
    readonly files: readonly string[];
    readonly flags: RemoveFlags;
  },
): Promise<void> {
  const { keys, keyNames } = await loadConfig(paths);
  const texts = [after, ...files.map((file) => readSmallText(file) ?? "")];
  const named = new Set(before.match(/(?<=\$\{)[A-Za-z_]\w*/g));
  const orphans = [...named].filter((name) =>
    keys.saved().has(name) && !keyNames.includes(name) && vendorHosts(name).length === 0 &&
    !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))
  );
  if (orphans.length === 0) return;
  const list = orphans.join(", ");
  const { stdout } = context.process;
  const asks = flags.forgetSecret === undefined && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const goes = flags.forgetSecret ??
    (asks &&
      prompt(`No other server here uses ${list}. Remove it from ${keys.file} too? Type yes:`) === "yes");
  if (goes) await writing(keys.file, () => removeKeys(keys.file, orphans));
  stdout.write(forReader(
    goes
      ? `Removed ${list} from ${keys.file}\n`
      : `${list} stays in ${keys.file}${asks ? "" : "; --forget-secret removes it with the server"}\n`,
  ));
}

/** The servers over HTTP that count here, and what tells the secrets of their clients. */
async function remoteServers(paths: RunPaths) {
  const { config, keys } = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const specs = serverSpecs(config.plugins, { cwd: paths.cwd, callSeconds: 0 });
  return { specs: specs.filter(({ type, url }) => type !== "stdio" && URL.canParse(url)), keys };
}

/** Signs out of a server that is not described any more; a sign-in that another one uses as well stays. */
async function forgetSignIn(
  context: CliContext,
  paths: RunPaths,
  { name, before }: { readonly name: string; readonly before: Awaited<ReturnType<typeof remoteServers>> },
): Promise<void> {
  const gone = before.specs.find((spec) => spec.name === name);
  if (!gone) return;
  const after = await remoteServers(paths).catch(() => undefined);
  if (!after || after.specs.some(({ url }) => url === gone.url)) return;
  const { signOut } = await loadSignOut();
  const { known, problems } = await signOut(gone, {
    home: paths.home,
    secret: (variable) => lookUpSecret(variable, before.keys),
  });
  const { stdout, stderr } = context.process;
  for (const problem of problems) {
    stderr.write(forReader(`· The tokens could not be given back: ${oneLine(problem, 300)}\n`));
  }
  if (known) stdout.write(forReader(`Its sign-in was forgotten\n`));
}

async function unknown(name: string, paths: Parameters<typeof loadConfig>[0]): Promise<ReasonixError> {
  const names = listServers(await loadConfig(paths)).map((row) => row.name);
  const near = suggestNames(name, names);
  return new ReasonixError(`Cannot remove "${name}": no file describes an MCP server of that name`, {
    exit: "usage",
    remedy: near.length > 0 ? `did you mean ${near.join(" or ")}?` : "`reasonix mcp list` shows them",
  });
}
