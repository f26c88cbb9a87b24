import { cacheDirectory, type LoadedConfig } from "../../config/mod.ts";
import { formatPlace } from "../../core/mod.ts";
import { exists, readSmallText } from "../../path/probe.ts";
import { projectDir } from "../../session/mod.ts";
import type { TrustItem } from "../../trust/mod.ts";
import type { RunPaths } from "../run_paths.ts";

/** Repository content for other agents that this version does not use. */
const UNUSED: readonly string[] = [
  ".claude/rules",
];

/** Returns notices about ignored repository content, each kind once, and again after a change. */
export function projectNotices(paths: RunPaths, loaded: LoadedConfig): string[] {
  const unused = unusedFilesNotice(paths.cwd, loaded.unused);
  return [
    oncePerProject(paths, "providers", providersNotice(loaded)),
    oncePerProject(paths, "widening", grantsNotice(loaded)),
    oncePerProject(paths, "hooks", hooksNotice(paths.cwd, loaded)),
    oncePerProject(paths, "unused", unused),
    oncePerProject(paths, "servers", serversNotice(paths.cwd, loaded)),
  ].filter((text) => text !== undefined);
}

/** Names such files of the project, and `unused` parts of others; undefined when there are none. */
function unusedFilesNotice(cwd: string, unused: readonly string[]): string | undefined {
  const found = [...UNUSED.filter((name) => exists(`${cwd}/${name}`)), ...unused];
  if (found.length === 0) return undefined;
  return `This project contains ${
    found.join(", ")
  }, which this version does not use; see reasonix docs not-yet`;
}

/** Names the MCP servers that are overridden or switched off; undefined when there are none. */
function serversNotice(cwd: string, { leftOut }: LoadedConfig): string | undefined {
  const lines = leftOut.filter(({ why }) => why === "shadowed" || why === "switched off").map((server) =>
    `${JSON.stringify(server.name)} (${formatPlace(server.place).replace(`${cwd}/`, "")}): ${server.message}`
  );
  return lines.length === 0 ? undefined : `MCP servers that are not used: ${lines.join("; ")}`;
}

/** Names the user's providers with other models or sampling in this project; undefined without any. */
function providersNotice({ projectProviders }: LoadedConfig): string | undefined {
  const used = projectProviders.filter(({ own }) => own !== undefined).map(({ name, own }) =>
    name === own
      ? `${name} stands in place of yours`
      : `${name} uses the key and address of yours named ${own}`
  );
  if (used.length === 0) return undefined;
  return `The project's provider ${
    used.join(", ")
  }: models and sampling are the project's, limits can only ` +
    "be lower, address, key, prices and everything else stay yours";
}

/** Names the permission grants of the project without trust; undefined when there are none. */
function grantsNotice(loaded: LoadedConfig): string | undefined {
  const items = loaded.needsTrust.filter(({ kind }) => kind === "widening");
  const grants = items.flatMap((item) => item.grants ?? []);
  if (grants.length === 0) return undefined;
  const shown = grants.slice(0, 3).map(({ value }) => value.length > 60 ? `${value.slice(0, 59)}…` : value);
  const more = grants.length - shown.length;
  return `This project would allow ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""} ` +
    `(${items.map(placed).join(", ")}); not in force until you look at it with \`reasonix trust\``;
}

/** Names the hooks of the project without trust; undefined when there are none. */
function hooksNotice(cwd: string, loaded: LoadedConfig): string | undefined {
  const hooks = loaded.needsTrust.filter(({ kind }) => kind === "hook");
  if (hooks.length === 0) return undefined;
  const shown = hooks.slice(0, 3).map(({ name, place }) =>
    `${name} (${formatPlace(place).replace(`${cwd}/`, "")})`
  );
  const more = hooks.length - shown.length;
  return `This project contains hooks that do not run: ${shown.join(", ")}${
    more > 0 ? ` and ${more} more` : ""
  }; ` +
    "look at them with `reasonix trust`";
}

/**
 * Returns a notice that was not given in this project yet, or differs from the last one of its kind;
 * undefined otherwise. What cannot be remembered is said again.
 */
function oncePerProject(
  paths: RunPaths,
  kind: "hooks" | "providers" | "servers" | "unused" | "widening",
  text: string | undefined,
): string | undefined {
  if (text === undefined) return undefined;
  const directory = projectDir(cacheDirectory(paths), paths.cwd);
  const file = `${directory}/${kind}`;
  if (readSmallText(file) === text) return undefined;
  try {
    Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(file, text, { mode: 0o600 });
  } catch {
    // A home that cannot be written to is no reason to stop.
  }
  return text;
}

function placed({ name, place }: TrustItem): string {
  return place.line === undefined ? name : `${name}:${place.line}`;
}
