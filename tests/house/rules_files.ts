import ts from "typescript";
import type { Edge } from "./edges.ts";
import { EXTENSION_POINTS, isListOf } from "./packages.ts";
import { isTest, lineOf, type Offence, productFiles, type Project, visitAll } from "./project.ts";

const STRICT = [
  "strict",
  "exactOptionalPropertyTypes",
  "noUncheckedIndexedAccess",
  "noImplicitOverride",
];
const LINT_RULES = ["no-explicit-any", "no-non-null-assertion", "no-console"];

interface DenoConfig {
  readonly compilerOptions?: Readonly<Record<string, unknown>>;
  readonly lint?: {
    readonly rules?: { readonly tags?: string[]; readonly include?: string[]; readonly exclude?: string[] };
  };
  readonly imports?: Readonly<Record<string, string>>;
}

/** deno.json keeps the strict options and lint rules on, and pins every package to one npm version. */
export function looseConfig(project: Project): Offence[] {
  const path = "deno.json";
  const config = JSON.parse(project.texts.get(path) ?? "{}") as DenoConfig;
  const rules = config.lint?.rules ?? {};
  const missing = [
    ...STRICT.filter((option) => config.compilerOptions?.[option] !== true).map((option) =>
      `${option} is off`
    ),
    ...(rules.tags?.includes("recommended") ? [] : ["the recommended lint rules are off"]),
    ...LINT_RULES.filter((rule) => !rules.include?.includes(rule)).map((rule) => `lint rule ${rule} is off`),
    ...(rules.exclude ?? []).map((rule) => `lint rule ${rule} is switched off`),
    ...Object.entries(config.imports ?? {})
      .filter(([, target]) => !/^npm:\/?(@[\w-]+\/)?[\w.-]+@\d+\.\d+\.\d+[\w.-]*(\/.*)?$/.test(target))
      .map(([name, target]) => `${name} is not pinned to an npm version: ${target}`),
  ];
  return missing.map((what) => ({ path, what }));
}

/** Paths of a build machine, and registries of packages. */
const PRIVATE = [
  /(?<![\w.$-])\/(root|work)\/[\w.]/,
  /(?<![\w.$-])\/tmp\/[\w.-]*(bash_jobs|[0-9a-f]{8})/,
  /(?<![\w.$-])\/(home|Users)\/(?!(me|you|user|alice|bob|ann|dev|someone|name|\w)\b)[a-z]\w*\//,
  /npmmirror|artifactory|nexus\.|verdaccio/,
];

/** Public registries, which only pages for readers may name. */
const REGISTRY = /registry\.npmjs\.org|registry\.yarnpkg|pypi\.org/;

export function privatePaths(project: Project): Offence[] {
  return [...project.texts].filter(([path]) => path !== "tests/house/rules_files.ts").flatMap((
    [path, text],
  ) =>
    text.split("\n").flatMap((line, index) => {
      const patterns = path.startsWith("docs/") ? PRIVATE : [...PRIVATE, REGISTRY];
      const match = patterns.map((pattern) => pattern.exec(line)).find((found) => found !== null);
      return match
        ? [{ path, line: index + 1, what: `names a place that others do not have: ${match[0]}` }]
        : [];
    })
  );
}

/** Packages in the lock file from other sources than npm. */
export function foreignPackages(project: Project): Offence[] {
  const path = "deno.lock";
  const lock = project.texts.get(path) ?? "";
  return lock.split("\n").flatMap((text, index) =>
    /https?:\/\/|"tarball"|"jsr:|"redirects"|"remote"/.test(text)
      ? [{ path, line: index + 1, what: `not a plain npm package: ${text.trim()}` }]
      : []
  );
}

const PROSE = 500;

/** Long prose in code, unused Markdown in `src`, and tools without a description next to them. */
export function misplacedProse(project: Project): Offence[] {
  const sources = productFiles(project).filter((file) => file.path.startsWith("src/"));
  const imported = new Set(sources.flatMap((file) => file.edges.map((edge) => edge.to)));
  const found: Offence[] = [];
  for (const path of project.texts.keys()) {
    if (!path.startsWith("src/") || isTest(path)) continue;
    if (path.endsWith(".md") && !imported.has(path)) found.push({ path, what: "no file imports this text" });
    const tool = /^(src\/tool\/builtin\/[^/]+)\/tool\.ts$/.exec(path)?.[1];
    if (tool !== undefined && !project.texts.has(`${tool}/description.md`)) {
      found.push({ path: tool, what: "has no description.md" });
    }
  }
  for (const file of sources.filter((source) => !source.path.startsWith("src/i18n/"))) {
    visitAll(file.tree, (node) => {
      const text = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
        ? node.getText(file.tree)
        : "";
      const words = text.split(/[^A-Za-z]+/).filter((word) => word.length > 1).length;
      if (text.length < PROSE || words < PROSE / 10) return;
      found.push({
        path: file.path,
        line: lineOf(file.tree, node),
        what: "long prose; make it a Markdown file",
      });
    });
  }
  return found;
}

/** Programs started by the name `deno`, which may be missing: npx can have started the runtime. */
export function denoByName(project: Project): Offence[] {
  return [...project.sources.values()].flatMap((file) =>
    file.lines.flatMap((text, index) =>
      /new Deno\.Command\(\s*["'`]deno["'`]/.test(text)
        ? [{ path: file.path, line: index + 1, what: "use Deno.execPath() instead of the name deno" }]
        : []
    )
  );
}

const MOST_NAMESAKES = 3;

/** File names that too many files share. Commands have the names of their packages. */
export function sharedNames(project: Project): Offence[] {
  const files = new Map<string, string[]>();
  for (const { path } of productFiles(project)) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (/^(mod|tool|kind)\.ts$/.test(name) || !/^(src|cli)\//.test(path)) continue;
    if (/^cli\/commands\//.test(path)) continue;
    files.set(name, [...files.get(name) ?? [], path]);
  }
  return [...files.values()].filter((paths) => paths.length > MOST_NAMESAKES).flatMap((paths) =>
    paths.slice(MOST_NAMESAKES).map((path) => ({
      path,
      what: `shares its name with ${paths.slice(0, MOST_NAMESAKES).join(" and ")}`,
    }))
  );
}

const SMALL = 30;

/**
 * Small files that a single file uses: usually a piece of that file. Entries of a list file, what a `mod.ts`
 * exports, lazily loaded files and files with separate tests are exempt.
 */
export function lonelyFiles(project: Project): Offence[] {
  const users = new Map<string, Edge[]>();
  for (const edge of [...project.sources.values()].flatMap((file) => file.edges)) {
    users.set(edge.to, [...users.get(edge.to) ?? [], edge]);
  }
  return productFiles(project).flatMap(({ path, lines }) => {
    const edges = users.get(path) ?? [];
    const [user] = new Set(edges.map((edge) => edge.from));
    const standsAlone = user === undefined || edges.some((edge) =>
      edge.from !== user || edge.kind === "lazy"
    ) ||
      user.endsWith("mod.ts") || path.endsWith("mod.ts") ||
      EXTENSION_POINTS.some((point) => isListOf(point, user) || isListOf(point, path));
    const value = lines.length - 1;
    if (standsAlone || value >= SMALL || !/^(src|cli)\//.test(path)) return [];
    return [{ path, value, what: `${value} lines for ${user} alone; make it a part of that file` }];
  });
}
