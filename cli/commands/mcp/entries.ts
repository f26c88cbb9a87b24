import { argument, choice, entry, flag, type FlagsOf, option, options, toggle } from "../../command.ts";
import { changedLines, writeChange, writing } from "../../file_change.ts";
import { forReader } from "../../terminal/narrow.ts";
import { type CliContext, runPaths } from "../../terminal/process.ts";
import { loadTrustedConfig, type RunPaths } from "../../../src/run/mod.ts";
import {
  listServers,
  loadConfig,
  loadServerEdits,
  lookUpSecret,
  mcpJsonFile,
  projectConfigFile,
  removeKeys,
  saveKey,
  userConfigFile,
  vendorHosts,
} from "../../../src/config/mod.ts";
import { formatLocation, message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import { loadSignIn, serverSpecs } from "../../../src/mcp/mod.ts";
import { isAbsolute } from "../../../src/path/lexical.ts";
import { isFile, readSmallText } from "../../../src/path/probe.ts";
import { realDirectory } from "../../../src/path/real_path.ts";
import { findProgram } from "../../../src/util/process.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { defined } from "../../../src/util/json.ts";

const SCOPE = {
  project: flag("Use the files of this project"),
  user: flag("Use your own files (default)"),
};

type Edits = Awaited<ReturnType<typeof loadServerEdits>>;
type NewServer = Omit<Parameters<Edits["addServer"]>[1], "name">;

type AddFlags = FlagsOf<typeof ADD_FLAGS>;

const ADD_FLAGS = {
  env: options("Variable for the program, also only its name", "NAME=value"),
  cwd: option("Directory that the program runs in", "dir"),
  header: options("Header for an address", "Name: value"),
  headersHelper: option("Line of the shell that prints headers as JSON", "line"),
  transport: choice("How it is reached; known from what is given", ["stdio", "http", "streamable-http"]),
  ...SCOPE,
};

/** Adds a server to the user's file, or to the project's, and shows what was written. */
export const ADD = entry("Add a server", {
  description: "Add a server to your own files, or to those of this project.\n" +
    "  reasonix mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n" +
    "  reasonix mcp add tracker https://tracker.example/mcp --header 'X-Team: a'",
  flags: ADD_FLAGS,
  aliases: { e: "env", t: "transport" },
  rest: { ...argument("Name, then an address, or -- and a command line", "name"), minimum: 1 },
  async run(flags, ...[name = "", ...words]) {
    const paths = runPaths(this);
    const { project = false } = flags;
    if (project && flags.user) throw usage(name, "--project and --user exclude each other", "give one");
    requireName(name);
    const server = serverOf(name, words, flags, paths);
    const loaded = await loadConfig(paths);
    const file = project ? projectConfigFile(paths.cwd) : userConfigFile(paths);
    const files = [file, mcpJsonFile(project ? paths.cwd : paths.home)];
    const known = listServers(loaded).filter((row) => row.name === name);
    for (const { place } of known) {
      if (!place || !files.includes(place.file)) continue;
      const remedy = `choose another, or: reasonix mcp remove ${name}`;
      throw usage(name, `there is one of that name (${formatLocation(place)})`, remedy);
    }
    const { addServer } = await loadServerEdits();
    const saved = project ? new Map<string, string>() : loaded.keys.saved();
    const isTaken = (variable: string, value: string) =>
      [paths.env(variable), saved.get(variable)].some((other) => other !== undefined && other !== value);
    const { change, secrets } = await addServer(file, { name, ...server }, isTaken);
    const notes = known.map(({ place }) =>
      `There is another of that name${place ? ` in ${formatLocation(place)}` : ""}`
    );
    for (const { variable, value } of secrets) {
      if (paths.env(variable) === value) {
        notes.push(`${variable} comes from your environment, as it does now`);
      } else if (project) {
        notes.push(
          `The value of ${variable} is not written into a file that others read: ` +
            `export ${variable}, or put it into .env of this project and keep that out of version control`,
        );
      } else {
        const keep = () => saveKey(loaded.keys.file, variable, value);
        if (!saved.has(variable)) await writing(loaded.keys.file, keep);
        notes.push(`The value of ${variable} is kept in ${loaded.keys.file}, which only you can read`);
      }
    }
    await writeChange(change, { shared: project });
    notes.push(...hints(server, flags, paths));
    notes.push(project ? "It starts after `reasonix trust`" : `Try it: reasonix mcp test ${name}`);
    const { stdout } = this.process;
    stdout.write(forReader(`Added "${name}" to ${file}\n`));
    stdout.exact(changedLines(this, change));
    stdout.write(forReader(notes.map((note) => `${note}\n`).join("")));
  },
});

function usage(name: string, why: string, remedy: string): ReasonixError {
  return usageError(message`Cannot add the MCP server ${JSON.stringify(name)}: ${why}`, remedy);
}

const MAX_NAME = 40;

/** The name is part of the names of tools, which have 64 characters, and of rules. */
function requireName(name: string): void {
  const rest = "use letters, digits, - and _, such as my-server";
  if (name === "") throw usage(name, "the name is empty", rest);
  if (name.length > MAX_NAME) throw usage(name, `the name has more than ${MAX_NAME} characters`, rest);
  const bad = /[^A-Za-z0-9_-]/u.exec(name)?.[0];
  if (bad !== undefined) throw usage(name, `a name cannot have ${JSON.stringify(bad)} in it`, rest);
  if (name.includes("__")) throw usage(name, "two _ in a row part the names of servers and tools", rest);
}

function serverOf(name: string, words: readonly string[], flags: AddFlags, paths: RunPaths): NewServer {
  const [first, ...rest] = words;
  if (first === undefined) {
    throw usage(
      name,
      "neither a command nor an address is given",
      `write: reasonix mcp add ${name} -- COMMAND`,
    );
  }
  const isAddress = rest.length === 0 && /^[a-z][a-z0-9+.-]*:\/\//i.test(first);
  const type = flags.transport ?? (isAddress ? "http" : "stdio");
  if (type === "stdio") return program(name, { first, rest, flags, paths });
  if (!isAddress) throw usage(name, `${JSON.stringify(words.join(" "))} is no address`, "give https://…");
  return remote(name, first, flags);
}

function remote(name: string, url: string, flags: AddFlags): NewServer {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:") {
    throw usage(name, `${JSON.stringify(url)} is no address of a web server`, "give https://…");
  }
  refuse(name, { env: flags.env, cwd: flags.cwd }, "a server with an address starts no program here");
  return {
    type: "http",
    url,
    headers: Object.fromEntries((flags.header ?? []).map((text) => header(name, text))),
    ...(flags.headersHelper === undefined ? {} : { headers_helper: flags.headersHelper }),
  };
}

function refuse(name: string, flags: Readonly<Record<string, unknown>>, why: string): void {
  const [given] = Object.entries(flags).find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined) throw usage(name, `--${given} has no meaning: ${why}`, `leave --${given} out`);
}

function header(name: string, text: string): [string, string] {
  const [, key = "", value = ""] = /^([^:\s]+)\s*:\s*([^]*)$/.exec(text) ?? [];
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(key) || /[\r\n\0]/.test(value)) {
    throw usage(name, "a --header is no header", "write --header 'Name: value'");
  }
  return [key, value];
}

function variable(name: string, text: string): [string, string] {
  const [, key = "", value] = /^([^=]*)(?:=([^]*))?$/.exec(text) ?? [];
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) {
    throw usage(name, `${JSON.stringify(key)} is no name of a variable`, "write --env NAME=value");
  }
  return [key, value ?? `\${${key}}`];
}

interface ProgramWords {
  readonly first: string;
  readonly rest: readonly string[];
  readonly flags: AddFlags;
  readonly paths: RunPaths;
}

function program(name: string, { first, rest, flags, paths }: ProgramWords): NewServer {
  const { header, headersHelper } = flags;
  refuse(name, { header, "headers-helper": headersHelper }, "a program gets no headers; --env is for it");
  const directory = flags.cwd === undefined
    ? paths.cwd
    : realDirectory(isAbsolute(flags.cwd) ? flags.cwd : `${paths.cwd}/${flags.cwd}`, `run "${name}" there`);
  if (!isThere(first, directory, paths)) {
    const remedy = first.includes("/") ? "give the path of a program" : "install it, or give its path";
    throw usage(name, `there is no program ${JSON.stringify(first)}`, remedy);
  }
  return {
    type: "stdio",
    command: first,
    args: rest,
    env: Object.fromEntries((flags.env ?? []).map((text) => variable(name, text))),
    // A path in the user's file is relative to another directory than a typed one.
    ...defined({ cwd: flags.cwd === undefined || flags.project ? flags.cwd : directory }),
  };
}

function isThere(command: string, directory: string, { env }: RunPaths): boolean {
  if (command.includes("${") || Deno.build.os === "windows") return true;
  if (command.includes("/")) return isFile(isAbsolute(command) ? command : `${directory}/${command}`);
  return findProgram(command, env("PATH") ?? "", []) !== undefined;
}

/** A path that only works in this directory is the usual slip with a file that counts everywhere. */
function hints({ command, args }: NewServer, { project, cwd }: AddFlags, paths: RunPaths): string[] {
  if (project || cwd !== undefined || typeof command !== "string") return [];
  const words = [command, ...(args as readonly string[] ?? [])];
  const found = words.find((word) => {
    const path = `${paths.cwd}/${word}`;
    return !isAbsolute(word) && isFile(path);
  });
  if (found === undefined) return [];
  return [`${found} counts from the directory of each session; with --cwd . it is always this one`];
}

const REMOVE_FLAGS = {
  ...SCOPE,
  forgetSecret: toggle(
    "Take its secrets out of the home's .env too, or keep them; default: ask, else keep",
  ),
};

/** Takes a server out of the file that describes it. Everything else in the file stays as it is. */
export const REMOVE = entry("Remove a server", {
  flags: REMOVE_FLAGS,
  args: [argument("Name of the server", "name", "servers")],
  async run(flags, name) {
    const paths = runPaths(this);
    const { stdout } = this.process;
    const { removeServer } = await loadServerEdits();
    const files = [
      { owner: "project", path: projectConfigFile(paths.cwd) },
      { owner: "project", path: mcpJsonFile(paths.cwd) },
      { owner: "user", path: userConfigFile(paths) },
      { owner: "user", path: mcpJsonFile(paths.home) },
    ] as const;
    const wanted = files.filter(({ owner }) => flags[owner] || (!flags.project && !flags.user));
    const found: { owner: "project" | "user"; change: FileChange }[] = [];
    for (const { owner, path } of wanted) {
      const change = await removeServer(path, name);
      if (change) found.push({ owner, change });
    }
    const [first, ...others] = found;
    if (!first) throw await unknown(name, paths);
    if (others.some(({ owner }) => owner !== first.owner)) {
      const paths = found.map(({ change }) => change.path).join(" and ");
      throw usageError(
        message`Cannot remove "${name}": it is in ${paths}`,
        message`say which one: add --project or --user`,
      );
    }
    // What cannot be read is no reason to keep the entry, which may be what is wrong.
    const before = await remoteServers(paths).catch(() => undefined);
    await writeChange(first.change, { shared: first.owner === "project" });
    stdout.write(forReader(`Removed "${name}" from ${first.change.path}\n`));
    stdout.exact(changedLines(this, first.change));
    if (before) await forgetSignIn(this, paths, { name, before });
    await forgetSecrets(this, first.change, { paths, files: files.map(({ path }) => path), flags });
    const next = listServers(await loadConfig(paths)).find((row) => row.name === name);
    if (next?.place) stdout.write(forReader(`From now on the one in ${formatLocation(next.place)} counts\n`));
  },
});

/**
 * Takes the secrets out of the home's `.env` that only this entry named. Projects elsewhere may name them
 * too, so they go only on request.
 */
async function forgetSecrets(
  context: CliContext,
  { before, after }: { readonly before: string; readonly after: string },
  { paths, files, flags }: {
    readonly paths: RunPaths;
    readonly files: readonly string[];
    readonly flags: FlagsOf<typeof REMOVE_FLAGS>;
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

/** The servers over HTTP that count here, and the keys with the secrets of their clients. */
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
  const { signOut } = await loadSignIn();
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
  return usageError(
    message`Cannot remove "${name}": no file describes an MCP server of that name`,
    near.length > 0 ? message`did you mean ${near.join(" or ")}?` : message`\`reasonix mcp list\` shows them`,
  );
}

interface FileChange {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** Writes a file as it would be. Throws a ReasonixError that says why it cannot be written. */
