import type { Edge } from "./edges.ts";
import { isTest, type Offence, PLUGIN_LIST, pluginModules, productFiles, type Project } from "./project.ts";
import {
  API_LAYER,
  EXTENSION_POINTS,
  type ExtensionPoint,
  isListOf,
  LAYERS,
  OPEN_PACKAGES,
  packageOf,
  PROCESS_ENTRIES,
  TYPE_ENTRIES,
} from "./packages.ts";

function productEdges(project: Project): Edge[] {
  return productFiles(project).flatMap((file) => [...file.edges]);
}

function offence(edge: Edge, what: string): Offence {
  return { path: edge.from, line: edge.line, what };
}

export function unknownPackages(project: Project): Offence[] {
  return productFiles(project).flatMap(({ path }) => {
    const name = packageOf(path);
    if (name === undefined || name in LAYERS) return [];
    return [{ path, what: `package ${name} has no layer in tests/house/packages.ts` }];
  });
}

/** Imports, lazy ones included, that do not go strictly downwards. */
export function upwardImports(project: Project): Offence[] {
  return productEdges(project).flatMap((edge) => {
    const to = packageOf(edge.to);
    const from = edge.from === "mod.ts" ? undefined : packageOf(edge.from);
    if (to === undefined || to === from) return [];
    const high = LAYERS[to] ?? Infinity;
    if (edge.from === "mod.ts") {
      return high <= API_LAYER ? [] : [offence(edge, `the embedding API may not show ${edge.to}`)];
    }
    const low = from === undefined ? undefined : LAYERS[from];
    if (low === undefined || high < low) return [];
    return [offence(edge, `${from} (layer ${low}) may not import ${edge.to} (layer ${high})`)];
  });
}

/** Imports that reach past the `mod.ts` of another package. */
export function deepImports(project: Project): Offence[] {
  return productEdges(project).flatMap((edge) => {
    const to = packageOf(edge.to);
    if (to === undefined || to === packageOf(edge.from) || OPEN_PACKAGES.includes(to)) return [];
    if (packageOf(edge.from) === undefined && edge.from !== "mod.ts") return [];
    if (edge.to === `src/${to}/mod.ts`) return [];
    if (edge.typeOnly && TYPE_ENTRIES.includes(edge.to)) return [];
    if (edge.kind === "lazy" && PROCESS_ENTRIES.includes(edge.to)) return [];
    return [offence(edge, `imports ${edge.to}; go through src/${to}/mod.ts`)];
  });
}

/** Imports of the program from outside of it, and imports of plugins from the program. */
export function strayImports(project: Project): Offence[] {
  return productEdges(project).flatMap((edge) => {
    const fromProgram = packageOf(edge.from) !== undefined || edge.from === "mod.ts";
    if (fromProgram && /^(tests|scripts|demo)\//.test(edge.to)) {
      return [offence(edge, `the program may not import ${edge.to}`)];
    }
    if (fromProgram && edge.to.startsWith("plugins/") && edge.to !== PLUGIN_LIST && !edge.typeOnly) {
      return [offence(edge, `${edge.to} is code of plugins, which runs in their processes alone`)];
    }
    const isOpen = /^plugins\/|^(?:mod\.ts|deno\.json)$/.test(edge.to) || !project.texts.has(edge.to);
    if (edge.from.startsWith("plugins/") && !isOpen) {
      return [offence(edge, `a plugin may not import ${edge.to}, only packages and mod.ts`)];
    }
    return [];
  });
}

/** Directories of `plugins/` that the list does not name, and modules of the list that are not there. */
export function unlistedPlugins(project: Project): Offence[] {
  const modules = pluginModules(project);
  const listed = new Set(modules.map((path) => path.split("/")[1]));
  const found = new Set(
    [...project.sources.keys()].flatMap((path) => /^plugins\/([^/]+)\//.exec(path)?.[1] ?? []),
  );
  return [
    ...[...found].filter((name) => name !== "common" && !listed.has(name))
      .map((name) => ({ path: `plugins/${name}`, what: `${PLUGIN_LIST} does not name it` })),
    ...modules.filter((path) => !project.sources.has(path))
      .map((path) => ({ path: PLUGIN_LIST, what: `there is no ${path}` })),
  ];
}

/** Import cycles within the program, lazy ones included, each reported once at its first file. */
export function cycles(project: Project): Offence[] {
  const next = new Map<string, string[]>();
  for (const edge of productEdges(project)) {
    if (!project.sources.has(edge.to)) continue;
    next.set(edge.from, [...next.get(edge.from) ?? [], edge.to]);
  }
  const state = new Map<string, "open" | "closed">();
  const path: string[] = [];
  const found: Offence[] = [];
  const visit = (file: string): void => {
    state.set(file, "open");
    path.push(file);
    for (const target of next.get(file) ?? []) {
      if (state.get(target) === "open") {
        const circle = [...path.slice(path.indexOf(target)), target];
        found.push({ path: target, what: `import cycle ${circle.join(" → ")}` });
      } else if (!state.has(target)) visit(target);
    }
    path.pop();
    state.set(file, "closed");
  };
  for (const file of next.keys()) if (!state.has(file)) visit(file);
  return found;
}

/** Extension points without their directory: a rule about them would check nothing. */
export function lostExtensionPoints(project: Project): Offence[] {
  const paths = [...project.texts.keys()];
  return EXTENSION_POINTS.filter(({ directory }) => !paths.some((path) => path.startsWith(`${directory}/`)))
    .map(({ directory }) => ({
      path: directory,
      what: "no such directory, though tests/house/packages.ts names it",
    }));
}

/** Entries of an extension directory that its list file does not name. */
export function unlistedExtensions(project: Project): Offence[] {
  return EXTENSION_POINTS.flatMap((point) => {
    const paths = [...project.texts.keys()].filter((path) =>
      path.startsWith(`${point.directory}/`) && !isTest(path)
    );
    const entries = new Set(paths.flatMap((path) => entryOf(point, path) ?? []));
    const lists = [...project.sources.values()].filter((file) => isListOf(point, file.path));
    const targets = lists.flatMap((file) => file.edges.map((edge) => edge.to));
    return [...entries].filter((entry) => !targets.some((target) => entryOf(point, target) === entry))
      .map((entry) => ({ path: entry, what: `not listed in ${point.list}` }));
  });
}

/** Imports that reach into an extension without going through the list. */
export function extensionShortcuts(project: Project): Offence[] {
  return productEdges(project).flatMap((edge) =>
    EXTENSION_POINTS.flatMap((point) => {
      const entry = entryOf(point, edge.to);
      if (
        entry === undefined || isListOf(point, edge.from) || entryOf(point, edge.from) === entry ||
        (edge.typeOnly && (entry === point.model || packageOf(edge.from) === undefined))
      ) return [];
      return [offence(edge, `imports ${edge.to}; extensions are reached through ${point.list}`)];
    })
  );
}

/** The entry of an extension point a path belongs to, as a path. */
function entryOf(point: ExtensionPoint, path: string): string | undefined {
  if (!path.startsWith(`${point.directory}/`)) return undefined;
  const [first = "", deeper] = path.slice(point.directory.length + 1).split("/");
  const whole = `${point.directory}/${first}`;
  if (whole === point.shared) return undefined;
  if (point.entries === "directories") return deeper === undefined ? undefined : whole;
  if (point.entries === "both") return whole;
  if (!first.endsWith(point.entries)) return undefined;
  return whole;
}
