/**
 * Bundles: directories in the form of a plugin of Claude Code, which the user installed below the Reasonix
 * home. A bundle has an effect while its files are exactly those that the user trusted.
 */
import { lstatSync, readdirSync } from "node:fs";
import { type EnvLookup, withBundleRoot } from "../config_paths.ts";
import { readMcpJson } from "../foreign/mcp_json.ts";
import { readSettingsHooks } from "../foreign/claude.ts";
import type { Layer } from "../load/layer.ts";
import { LayerResolver, pluginsOf } from "../load/resolve.ts";
import type { ConfigProblem } from "../problem.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { errorMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { contains, isAbsolute, join, normalize } from "../../path/lexical.ts";
import { exists, isDirectory, readSmallText } from "../../path/probe.ts";
import { realPath } from "../../path/real_path.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { isRecord } from "../../util/json.ts";
import { CONTROLS, oneLine, REORDERING } from "../../util/terminal_text.ts";

export interface Bundle {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Absolute path of its directory. */
  readonly root: string;
  /** Absolute paths of directories and Markdown files. */
  readonly commands: readonly string[];
  readonly agents: readonly string[];
  readonly skills: readonly string[];
  /** Absolute paths of JSON files with hooks, and with MCP servers. */
  readonly hooks: readonly string[];
  readonly servers: readonly string[];
  /** Keys of the manifest that have no effect here. */
  readonly unused: readonly string[];
}

const MANIFEST = ".claude-plugin/plugin.json";
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const INFORMATIVE = ["$schema", "author", "homepage", "keywords", "license", "repository"];
const MAX_FILES = 2_000;
const MAX_BYTES = 20 * 1024 * 1024;

export function bundleDirectory(home: string, name: string): string {
  return join(home, `bundles/${name}`);
}

function unusable(root: string, why: Text, remedy: Text = message`correct the bundle`): ReasonixError {
  return new ReasonixError(message`Cannot use the bundle in ${root}: ${why}`, { exit: "config", remedy });
}

/**
 * Reads the manifest, and finds the parts of a bundle. Throws a ReasonixError where it cannot be used, which
 * names `from`.
 */
export function readBundle(root: string, from = root): Bundle {
  const text = readSmallText(join(root, MANIFEST));
  if (text === undefined) {
    throw unusable(from, message`it has no file ${MANIFEST}`, message`name the directory that has this file`);
  }
  let manifest: unknown;
  try {
    manifest = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw unusable(from, message`${MANIFEST} is no JSON: ${errorMessage(error)}`);
  }
  if (!isRecord(manifest)) throw unusable(from, message`${MANIFEST} is no JSON object`);
  const { name, version, description, commands, agents, skills, hooks, mcpServers, ...others } = manifest;
  if (typeof name !== "string" || !NAME.test(name)) {
    const why = message`its name ${
      JSON.stringify(name)?.slice(0, 80) ?? "(none)"
    } has other characters than letters, digits, - and _`;
    throw unusable(from, why);
  }
  const parts = (key: string, given: unknown, standard: string) => [
    ...new Set(
      [standard, ...pathsOf(given, { key, root, from })].map((path) => join(root, path)).filter(exists),
    ),
  ];
  const files = (key: string, given: unknown, standard: string) => [
    ...parts(key, isRecord(given) ? undefined : given, standard),
    ...(isRecord(given) ? [join(root, MANIFEST)] : []),
  ];
  return {
    name,
    version: oneLine(String(version ?? ""), 40),
    description: oneLine(String(description ?? ""), 200),
    root,
    commands: parts("commands", commands, "commands"),
    agents: parts("agents", agents, "agents"),
    skills: parts("skills", skills, "skills"),
    hooks: files("hooks", hooks, "hooks/hooks.json"),
    servers: files("mcpServers", mcpServers, ".mcp.json"),
    unused: Object.keys(others).filter((key) => !INFORMATIVE.includes(key)).map((key) => oneLine(key, 40)),
  };
}

/** Relative paths of a key of the manifest; none may leave the bundle. */
function pathsOf(
  given: unknown,
  { key, root, from }: { readonly key: string; readonly root: string; readonly from: string },
): string[] {
  if (given === undefined) return [];
  const paths: unknown[] = Array.isArray(given) ? given : [given];
  return paths.map((path) => {
    const isInside = typeof path === "string" && !isAbsolute(path) && !path.includes("\\") &&
      contains(root, normalize(join(root, path)));
    if (!isInside) {
      throw unusable(
        from,
        message`${key} names ${JSON.stringify(path)?.slice(0, 80) ?? ""}, which is no path inside of it`,
      );
    }
    return normalize(path).replace(/\/+$/, "");
  });
}

export interface BundleFiles {
  /** Paths below the directory, sorted. */
  readonly files: readonly string[];
  readonly links: readonly string[];
}

/** Lists the files of a bundle without those of git. Throws a ReasonixError beyond the limits. */
export function bundleFiles(root: string): BundleFiles {
  const [files, links]: [string[], string[]] = [[], []];
  let bytes = 0;
  const visit = (below: string) => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      const { name } = entry;
      const path = below === "" ? name : `${below}/${name}`;
      checkName(path, root);
      if (name === ".git") continue;
      if (entry.isSymbolicLink()) links.push(path);
      else if (entry.isDirectory()) visit(path);
      else if (!entry.isFile()) throw unusable(root, message`${path} is neither a file nor a directory`);
      else {
        files.push(path);
        bytes += lstatSync(join(root, path)).size;
        checkSize(files.length, bytes, root);
      }
    }
  };
  visit("");
  return { files: files.sort(), links: links.sort() };
}

const UNSAFE = new RegExp(`[${CONTROLS}${REORDERING}\\\\]|(?:^|/)\\.{0,2}(?:/|$)`);

/** Throws for a path that leaves the directory, or that a terminal would not show as it is. */
export function checkName(path: string, root: string): void {
  if (!UNSAFE.test(path)) return;
  throw unusable(root, message`${JSON.stringify(path).slice(0, 120)} is no safe name of a file`);
}

export function checkSize(files: number, bytes: number, root: string): void {
  if (files <= MAX_FILES && bytes <= MAX_BYTES) return;
  throw unusable(root, message`it has more than ${MAX_FILES} files or ${MAX_BYTES} bytes`);
}

/** All of its files as they are. Throws for a bundle with links. */
export function bundleItem({ name, root }: Pick<Bundle, "name" | "root">): TrustItem {
  const { files, links: [link] } = bundleFiles(root);
  if (link !== undefined) throw unusable(root, message`${link} is a link`);
  return {
    kind: "bundle",
    name,
    definition: {},
    files: files.map((file) => join(root, file)),
    place: { file: root },
  };
}

/** Decisions about bundles count for their installed directory. */
export function bundleStore(home: string, name: string): TrustStore {
  return new TrustStore({ home, project: realPath(bundleDirectory(home, name)) });
}

/**
 * The hooks and MCP servers of a bundle, in layers like those of our files: of the user, who trusted it, or,
 * to be described, of a project.
 */
export async function bundleLayers(
  { name, root, hooks, servers }: Bundle,
  source: "user" | "project",
  problems: ConfigProblem[],
): Promise<Layer[]> {
  const layers: Layer[] = [];
  for (const file of hooks) {
    const layer = await readSettingsHooks({ source, file }, problems);
    if (layer) layers.push({ ...layer, root });
  }
  for (const file of servers) {
    const read = await readMcpJson({ source, file, stronger: new Map(), isBundle: true }, problems);
    if (!read) continue;
    const plugins = pluginsOf(read.layer).map((entry) => {
      const filled = filledIn(entry, root) as TomlTable;
      const env = filled.url === undefined
        ? { env: { ...tableOf(filled.env), CLAUDE_PLUGIN_ROOT: root } }
        : {};
      return { ...filled, ...env, name: `plugin_${name}_${filled.name}` };
    });
    layers.push({ ...read.layer, root, table: { plugins } });
  }
  return layers;
}

/** Describes the hooks and MCP servers of a bundle, as those of a project that needs trust. */
export async function bundleItems(
  bundle: Bundle,
  { home, env }: { readonly home: string; readonly env: EnvLookup },
): Promise<{ readonly items: readonly TrustItem[]; readonly problems: readonly ConfigProblem[] }> {
  const problems: ConfigProblem[] = [];
  const layers = await bundleLayers(bundle, "project", problems);
  const resolver = new LayerResolver({ cwd: bundle.root, env }, home, problems);
  await resolver.resolveProject(layers, [], []);
  return { items: resolver.needsTrust, problems };
}

function filledIn(value: unknown, root: string): unknown {
  if (typeof value === "string") return withBundleRoot(value, root);
  if (Array.isArray(value)) return value.map((item) => filledIn(item, root));
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filledIn(item, root)]));
}

export interface InstalledBundles {
  readonly bundles: readonly Bundle[];
  readonly layers: readonly Layer[];
}

/** Opens the bundles that the user's file names; one that is not as the user trusted it is a warning. */
export async function openBundles(
  table: TomlTable,
  { home, file }: { readonly home: string; readonly file: string },
  problems: ConfigProblem[],
): Promise<InstalledBundles> {
  const bundles: Bundle[] = [];
  const layers: Layer[] = [];
  for (const name of Object.keys(table)) {
    const why = await openBundle(name, home).then((bundle) => {
      if (typeof bundle !== "string") bundles.push(bundle);
      return typeof bundle === "string" ? bundle : undefined;
    }, errorMessage);
    if (why === undefined) continue;
    problems.push({
      level: "warning",
      message: `The bundle ${oneLine(name, 64)} is not used: ${why}`,
      remedy: `run: reasonix plugin update ${oneLine(name, 64)}`,
      place: { file },
    });
  }
  for (const bundle of bundles) layers.push(...await bundleLayers(bundle, "user", problems));
  return { bundles, layers };
}

/** A string is the reason why it cannot be used. */
async function openBundle(name: string, home: string): Promise<Bundle | string> {
  const root = bundleDirectory(home, name);
  if (!NAME.test(name) || !isDirectory(root)) return "it is not installed";
  const isTrusted = await bundleStore(home, name).isTrusted(bundleItem({ name, root }));
  if (!isTrusted) return "its files are not those that you trusted";
  const bundle = readBundle(root);
  return bundle.name === name ? bundle : `it calls itself ${bundle.name}`;
}
