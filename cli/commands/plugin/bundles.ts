/** Bundles: installed from a directory or a git address, trusted by content, updated and removed. */
import { mkdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { argument, type CommandGroup, entry, flag } from "../../command.ts";
import { forReader } from "../../terminal/narrow.ts";
import { confirmed } from "../../terminal/open.ts";
import { type CliContext, runPaths } from "../../terminal/process.ts";
import { loadMarkdownCommands } from "../../../src/command/mod.ts";
import {
  type Bundle,
  type BundleSource,
  type ConfigProblem,
  type FetchedBundle,
  formatProblem,
  loadBundles,
  loadBundleSources,
  loadConfig,
  setConfigValue,
  userConfigFile,
} from "../../../src/config/mod.ts";
import { bundleRoots, findSkills, loadAgents, loadSkills } from "../../../src/context/mod.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import { exists, isDirectory, sortedEntries } from "../../../src/path/probe.ts";
import type { RunPaths } from "../../../src/run/mod.ts";
import { loadDiff } from "../../../src/tool/mod.ts";
import { describeItem, type TrustItem } from "../../../src/trust/mod.ts";
import { FileLock } from "../../../src/util/lock.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";

const YES = flag("Do not ask, once everything is shown");

export const bundleCommands: CommandGroup["commands"] = {
  install: entry("Install a bundle: a directory in the form of a plugin of Claude Code", {
    description: "Shows what the bundle could execute, and installs it once you trust exactly these files.",
    flags: { yes: YES },
    args: [argument("Directory, or git address, with @REF for a branch, tag or commit", "source")],
    async run({ yes }, text) {
      const paths = runPaths(this);
      const from = (await loadBundleSources()).parseSource(text, paths.cwd);
      await staged(paths, from, async (fetched) => {
        const { name } = fetched.bundle;
        if (Object.hasOwn(await installed(paths), name)) {
          const remedy = message`run: reasonix plugin update ${name}`;
          throw usageError(message`Cannot install ${name}: a bundle of this name is installed`, remedy);
        }
        const shown = await description(fetched, paths);
        await decide(this, fetched, { yes, shown, done: "installed" });
      });
    },
  }),
  update: entry("Fetch an installed bundle again, and show the difference", {
    description:
      "Changed files need your trust again. A bundle that was changed here becomes what its source has.",
    flags: { yes: YES },
    args: [argument("Name of the bundle", "name", "bundles")],
    async run({ yes }, name) {
      const paths = runPaths(this);
      const { source, ref, commit: before } = await requireInstalled(paths, name);
      const { parseSource } = await loadBundleSources();
      await staged(
        paths,
        parseSource(ref === "" ? source : `${source}@${ref}`, paths.cwd),
        async (fetched) => {
          const { bundleDirectory, bundleItem, bundleStore } = await loadBundles();
          const found = fetched.bundle.name;
          if (found !== name) {
            throw usageError(message`Cannot update ${name}: the bundle there is called ${found}`);
          }
          const root = bundleDirectory(paths.home, name);
          const changes = await difference(root, fetched.bundle.root);
          if (changes === "" && await bundleStore(paths.home, name).isTrusted(bundleItem({ name, root }))) {
            await note(paths, fetched);
            return this.process.stdout.write(`${name} has not changed\n`);
          }
          const shown = await description({ ...fetched, before }, paths) + changes;
          await decide(this, fetched, { yes, shown, done: "updated" });
        },
      );
    },
  }),
};

/** Removes a bundle. `known` are the plugins of the program, of which none with this name has an entry. */
export async function removeBundle(
  context: CliContext,
  name: string,
  known: readonly { readonly name: string }[],
): Promise<void> {
  const paths = runPaths(context);
  if (known.some((each) => each.name === name) && !Object.hasOwn(await installed(paths), name)) {
    throw usageError(message`Cannot remove the plugin ${name}: no configuration file has an entry for it`);
  }
  await requireInstalled(paths, name);
  const { bundleDirectory, bundleStore } = await loadBundles();
  const root = bundleDirectory(paths.home, name);
  const isLast = Object.keys(await installed(paths)).length === 1;
  await setConfigValue(userConfigFile(paths), isLast ? "bundles" : `bundles.${name}`, undefined);
  await bundleStore(paths.home, name).revoke();
  if (exists(root)) await rm(root, { recursive: true });
  context.process.stdout.write(`${name} is removed\n`);
}

export interface BundleRow {
  readonly name: string;
  readonly brief: string;
  readonly version: string;
  readonly source: string;
  readonly ref: string;
  readonly commit: string;
  readonly commands: readonly string[];
  readonly agents: readonly string[];
  readonly skills: readonly string[];
  readonly hooks: readonly string[];
  readonly servers: readonly string[];
  /** The reason why it is not used. */
  readonly problem?: string;
}

/** The installed bundles, with the parts of those that are used. */
export async function bundleRows(paths: RunPaths): Promise<readonly BundleRow[]> {
  const entries = Object.entries(await installed(paths));
  if (entries.length === 0) return [];
  const { openBundles } = await loadBundles();
  return await Promise.all(entries.map(async ([name, { source, ref, commit }]) => {
    const problems: ConfigProblem[] = [];
    const opened = await openBundles({ [name]: {} }, { ...paths, file: userConfigFile(paths) }, problems);
    const [bundle] = opened.bundles;
    const [problem] = problems.map(({ message, remedy }) => `${message}; ${remedy}`);
    const parts = bundle && await partsOf(bundle, paths);
    const named = (kind: string) =>
      parts?.items.filter((item) => item.kind === kind).map((item) => item.name) ?? [];
    return {
      name,
      brief: bundle?.description ?? "",
      version: bundle?.version ?? "",
      source,
      ref,
      commit,
      commands: parts?.commands.map((each) => `/${each}`) ?? [],
      agents: parts?.agents ?? [],
      skills: parts?.skills ?? [],
      hooks: named("hook"),
      servers: named("plugin"),
      ...(bundle ? {} : { problem: problem ?? "" }),
    };
  }));
}

interface Fetched extends FetchedBundle {
  readonly from: BundleSource;
  readonly bundle: Bundle;
  /** The commit that is installed. */
  readonly before?: string;
}

const STAGE = ".new-";

/** Fetches a bundle into a directory that is removed again, unless `work` moves it to its place. */
async function staged(
  { home }: RunPaths,
  from: BundleSource,
  work: (fetched: Fetched) => Promise<void>,
): Promise<void> {
  const directory = `${home}/bundles`;
  await mkdir(home, { recursive: true, mode: 0o700 });
  // Outside of the directory, which is removed under the lock.
  const lock = await FileLock.acquire(`${home}/bundles.lock`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    // What a killed process has left.
    for (const { name } of sortedEntries(directory)) {
      if (name.startsWith(STAGE)) await rm(`${directory}/${name}`, { recursive: true });
    }
    const root = `${directory}/${STAGE}${crypto.randomUUID()}`;
    try {
      const fetched = await (await loadBundleSources()).fetchBundle(from, root);
      const { bundleItem, readBundle } = await loadBundles();
      const bundle = readBundle(root, from.source);
      bundleItem(bundle);
      await work({ ...fetched, from, bundle });
    } finally {
      if (exists(root)) await rm(root, { recursive: true });
      if (sortedEntries(directory).length === 0) await rmdir(directory);
    }
  } finally {
    lock.release();
  }
}

/** Moves the fetched files to their place. The entry comes last: without it they have no effect. */
async function put(paths: RunPaths, fetched: Fetched): Promise<void> {
  const { bundleDirectory, bundleItem, bundleStore } = await loadBundles();
  const { bundle: { name, root: stage } } = fetched;
  const root = bundleDirectory(paths.home, name);
  const old = `${paths.home}/bundles/${STAGE}old-${crypto.randomUUID()}`;
  if (exists(root)) await rename(root, old);
  await rename(stage, root);
  const store = bundleStore(paths.home, name);
  await store.revoke();
  await store.trust([bundleItem({ name, root })]);
  await note(paths, fetched);
  if (exists(old)) await rm(old, { recursive: true });
}

async function note(paths: RunPaths, { from: { source, ref }, bundle, commit }: Fetched): Promise<void> {
  const entry = {
    source,
    ...(ref === undefined ? {} : { ref }),
    ...(commit === undefined ? {} : { commit }),
  };
  await setConfigValue(userConfigFile(paths), `bundles.${bundle.name}`, entry);
}

async function installed(paths: RunPaths) {
  return (await loadConfig(paths)).config.bundles;
}

async function requireInstalled(paths: RunPaths, name: string) {
  const known = await installed(paths);
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found) return found;
  const [near] = suggestNames(name, Object.keys(known), 1);
  throw usageError(
    message`Cannot find an installed bundle ${JSON.stringify(name)}`,
    near === undefined ? message`run: reasonix plugin install SOURCE` : message`did you mean ${near}?`,
  );
}

async function decide(
  context: CliContext,
  fetched: Fetched,
  { yes, shown, done }: { yes: boolean | undefined; shown: string; done: "installed" | "updated" },
): Promise<void> {
  const { stdout } = context.process;
  stdout.write(shown);
  const remedy = message`read what is shown, then add --yes`.text;
  const agreed = yes ||
    confirmed("Trust exactly these files?", { action: "trust this", exit: "blocked", remedy });
  if (agreed) await put(runPaths(context), fetched);
  stdout.write(agreed ? `${fetched.bundle.name} is ${done}\n` : `Nothing was ${done}\n`);
}

/** Everything that the user decides about. */
async function description(
  { from, bundle, before, commit, leftOut }: Fetched,
  paths: RunPaths,
): Promise<string> {
  const { name, version, description: about, unused, root } = bundle;
  const { items, problems, commands, agents, skills } = await partsOf(bundle, paths);
  const list = (label: string, names: readonly string[]) =>
    names.length === 0 ? "" : `${label}: ${names.join(", ")}`;
  const change = before ? `${before} → ` : "";
  const head = [name, version, `from ${from.source}`, commit && `commit ${change}${commit}`];
  const lines = [
    ...[
      head.filter(Boolean).join("  "),
      about,
      list("commands", commands.map((each) => `/${each}`)),
      list("agents", agents),
      list("skills", skills),
      list("without effect here", unused),
      list("links and submodules, left out", leftOut),
    ].filter(Boolean),
    "",
    ...(items.length === 0 ? ["It executes nothing"] : items.map((item) => describeItem(item).join("\n  "))),
    ...problems.map((problem) => `! ${problem}`),
    "",
  ];
  const { bundleDirectory } = await loadBundles();
  const shown = lines.join("\n").replaceAll(root, () => bundleDirectory(paths.home, name));
  return forReader(terminalSafe(shown));
}

async function partsOf(bundle: Bundle, { home, env }: RunPaths) {
  const { findMarkdownCommands, trustItemOf } = await loadMarkdownCommands();
  const { agentTrustItem, discoverAgents } = await loadAgents();
  const { items, problems } = await (await loadBundles()).bundleItems(bundle, { home, env });
  const { commands, unused } = findMarkdownCommands(bundleRoots([bundle], "commands", "project"));
  const agents = await discoverAgents(
    bundleRoots([bundle], "agents", "project"),
    () => Promise.resolve(false),
  );
  const found = await findSkills({ cwd: bundle.root, home: `${bundle.root}/.none`, bundles: [bundle] });
  const skills = found.skills.filter((skill) => skill.bundle).map((skill) => ({
    ...skill,
    scope: "project" as const,
  }));
  const set = { ...found, skills };
  const all: TrustItem[] = [
    ...items,
    ...commands.flatMap((command) => trustItemOf(command) ?? []),
    ...agents.untrusted.map(agentTrustItem),
    ...(skills.length === 0 ? [] : new (await loadSkills()).Skills({ set }).trustItems()),
  ];
  return {
    items: all,
    problems: [
      ...problems.map(formatProblem),
      ...unused.map(({ text }) => text),
      ...agents.warnings.map(({ path, line, text }) => `${path}:${line}: ${text}`),
      ...found.warnings.map(({ path, text }) => `${path}: ${text}`),
    ],
    commands: commands.map(({ name }) => name),
    agents: agents.untrusted.map(({ name }) => name),
    skills: skills.map(({ name }) => name),
  };
}

const MAX_DIFF_BYTES = 8_000;
const MAX_TEXT_BYTES = 64_000;

/** The changes of two directories as a diff; empty when their files are the same. */
async function difference(before: string, after: string): Promise<string> {
  const { unifiedDiff } = await loadDiff();
  const { bundleFiles } = await loadBundles();
  const old = isDirectory(before) ? bundleFiles(before) : { files: [], links: [] };
  const now = bundleFiles(after).files;
  const parts = old.links.map((link) => `Removed: ${link}\n`);
  for (const file of [...new Set([...old.files, ...now])].sort()) {
    const [was, is] = await Promise.all([
      old.files.includes(file) ? readFile(`${before}/${file}`) : undefined,
      now.includes(file) ? readFile(`${after}/${file}`) : undefined,
    ]);
    if (was && is && was.length === is.length && was.every((byte, at) => byte === is[at])) continue;
    const texts = [was, is].map((bytes) => new TextDecoder().decode(bytes));
    const isText = texts.every((text) => text.length <= MAX_TEXT_BYTES && !text.includes("\0"));
    const [from = "", to = ""] = texts;
    parts.push(
      isText
        ? unifiedDiff(from, to, { from: was && file, to: is && file, maxBytes: MAX_DIFF_BYTES }).diff
        : `${was ? is ? "Changed" : "Removed" : "Added"}: ${file}\n`,
    );
  }
  return terminalSafe(parts.join(""));
}
