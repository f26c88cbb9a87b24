/**
 * The one table of protected paths: files that make programs run code later, outside of every judgement. The
 * gate asks before a tool or a command writes one, the jail mounts those that exist read-only, and
 * docs/security.md shows the table.
 */
import { message } from "../core/mod.ts";
import { contains, foldPath, relativeTo } from "./lexical.ts";
import { compileGlobs, expandBraces, type GlobForm, type GlobTest } from "./glob.ts";

/**
 * The base of a pattern: any directory; the home directory and the top of a writable
 * directory; the home directory; the home directory, except in a project that is there.
 */
export type ProtectedScope = "anywhere" | "root" | "home" | "programs";

const SCOPES: readonly ProtectedScope[] = ["anywhere", "root", "home", "programs"];

export interface ProtectedPath {
  /** Names of files, with the wildcards of ignore files; ending in `/**` a directory with what is in it. */
  readonly pattern: string;
  readonly scope: ProtectedScope;
  readonly kind: ProtectedKind;
}

/** Kinds of protected files, as they continue "would change …". */
export const PROTECTED_KINDS = {
  git: message`Git's own hooks and settings`,
  opened: message`what programs run or obey when this project is next opened`,
  project: message`files that this project has the agent run`,
  start: message`a start file of the user's shell or tools`,
  agents: message`what the user has agents run`,
  programs: message`programs and plugins of the user`,
  own: message`settings of this program`,
  holder: message`a directory of files that programs run or obey`,
};

export type ProtectedKind = keyof typeof PROTECTED_KINDS;

/** Order matters only for which reason is given. */
export const PROTECTED_PATHS: readonly ProtectedPath[] = [
  ...rows("anywhere", "git", [
    ".git",
    ".git/**/hooks/**",
    ".git/**/{config,config.worktree,commondir,gitdir}",
  ]),
  ...rows("anywhere", "opened", [
    "reasonix.toml",
    ".mcp.json",
    ".envrc",
    ".vscode/{settings,tasks}.json",
    ".claude/{settings,settings.local}.json",
  ]),
  ...rows("anywhere", "project", [
    ".reasonix/{agents,bin,commands,hooks,plugins,skills}/**",
    ".reasonix/{hooks,settings}.*",
  ]),
  ...rows("root", "start", [
    ".{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,inputrc}",
    ".{zshrc,zshenv,zprofile,zlogin,zlogout}",
    ".{kshrc,mkshrc,cshrc,tcshrc,login,logout,xprofile,xinitrc}",
    ".config/{fish,autostart,systemd}/**",
    ".gitconfig",
    ".config/git/**",
    ".ssh/**",
  ]),
  ...rows("home", "agents", [
    ".{agents,claude}/{agents,skills,hooks}/**",
  ]),
  ...rows("programs", "programs", [
    "bin/**",
    ".local/{bin,lib,pipx}/**",
    ".local/share/{uv,mise,pipx,nvim,applications}/**",
    ".{vim,emacs.d,oh-my-zsh,zsh}/**",
    ".config/nvim/**",
    ".cargo/{bin/**,env,config.toml}",
    "go/bin/**",
    ".bun/bin/**",
    ".yarn/bin/**",
    ".dotnet/tools/**",
    ".{rustup,deno,npm-global,nvm,volta,pyenv,rbenv,asdf,sdkman,krew}/**",
    ".npmrc",
    ".vscode/extensions/**",
    ".vscode-server/**",
    ".{agents,claude}/**",
  ]),
];

function rows(scope: ProtectedScope, kind: ProtectedKind, patterns: readonly string[]): ProtectedPath[] {
  return patterns.map((pattern) => ({ pattern, scope, kind }));
}

export interface ProtectedContext {
  readonly home: string;
  readonly roots: readonly string[];
  readonly realPath: (path: string) => string;
  /** Further protected files, as real absolute paths. */
  readonly protectedFiles?: readonly string[] | undefined;
}

/** The rows of one scope in one test: nearly every path matches none of them. */
interface CompiledScope {
  readonly path: GlobTest;
  /** The directories above what the patterns name. */
  readonly holder: GlobTest;
}

let joined: Readonly<Record<ProtectedScope, CompiledScope>> | undefined;

function scopes(): Readonly<Record<ProtectedScope, CompiledScope>> {
  const join = (scope: ProtectedScope): CompiledScope => {
    const forms = PROTECTED_PATHS.filter((row) => row.scope === scope).flatMap(formsOf);
    return { path: wholeOf(scope, forms.map(named)), holder: wholeOf(scope, forms.flatMap(holdersOf)) };
  };
  return joined ??= {
    anywhere: join("anywhere"),
    root: join("root"),
    home: join("home"),
    programs: join("programs"),
  };
}

/** Reports whether any pattern fits a path, as the patterns of each scope see it. */
function fits(what: keyof CompiledScope, seen: ReturnType<typeof relativeNames>): boolean {
  return SCOPES.some((scope) => seen[scope].some((relative) => scopes()[scope][what](relative)));
}

/** The pattern of a row without braces. */
function formsOf({ pattern }: ProtectedPath): string[] {
  return expandBraces(pattern) ?? [pattern];
}

function named(form: string): GlobForm {
  return form.endsWith("/**") ? { glob: form.slice(0, -3), tail: "within" } : { glob: form };
}

function wholeOf(scope: ProtectedScope, globs: readonly (string | GlobForm)[]): GlobTest {
  return compileGlobs(globs, { dialect: "ignore", anywhere: scope === "anywhere" });
}

function holdersOf(form: string): string[] {
  const names = form.replace(/\/\*\*$/, "").split("/");
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join("/")).filter((holder) => holder !== ".git");
}

/**
 * Returns what a protected path is, or undefined for any other. Of one file all names are looked at, so that
 * links do not hide it.
 */
export function protectedPath(names: Iterable<string>, context: ProtectedContext): ProtectedKind | undefined {
  for (const name of names) {
    if (context.protectedFiles?.includes(name)) return "own";
    const seen = relativeNames(name, context);
    if (!fits("path", seen)) continue;
    const row = PROTECTED_PATHS.find((row) =>
      seen[row.scope].some(wholeOf(row.scope, formsOf(row).map(named)))
    );
    if (row) return row.kind;
  }
  return undefined;
}

/**
 * Returns what moving a directory here, or away from here, changes; for anything but a directory that is made
 * empty.
 */
export function protectedHolder(
  names: Iterable<string>,
  context: ProtectedContext,
): ProtectedKind | undefined {
  for (const name of names) {
    // At the top of a project such a directory is not where shells look.
    if (fits("holder", relativeNames(name, { ...context, roots: [] }))) return "holder";
  }
  return undefined;
}

/** A path as the patterns of each scope see it. */
function relativeNames(
  path: string,
  { home, roots, realPath }: ProtectedContext,
): Readonly<Record<ProtectedScope, readonly string[]>> {
  const plain = foldPath(path);
  const below = (directory: string) =>
    [...new Set([directory, realPath(directory)])].flatMap((base) => relativeTo(plain, foldPath(base)) ?? []);
  const inHome = below(home);
  const inProject = roots.some((root) => !isSystemDirectory(root, home) && below(root).length > 0);
  return {
    anywhere: [plain],
    root: [...inHome, ...roots.flatMap(below)],
    home: inHome,
    programs: inProject ? [] : inHome,
  };
}

/**
 * Reports whether a writable directory is more than a project: it holds the user's home, or is one of the
 * system's own.
 */
export function isSystemDirectory(directory: string, home: string | undefined): boolean {
  return /^\/(?:|etc|home|media|mnt|opt|root|run|srv|tmp|usr|var|var\/tmp)$/.test(directory) ||
    (home !== undefined && contains(directory, home));
}

/** The patterns of these scopes, except those of Git, without braces and `/**`. */
export function protectedForms(scopes: readonly ProtectedScope[]): string[] {
  return PROTECTED_PATHS.filter((row) => row.kind !== "git" && scopes.includes(row.scope)).flatMap(formsOf)
    .map((form) => form.replace(/\/\*\*$/, ""));
}

/**
 * The protected paths below a directory that may exist, except those of Git, which depend on where it keeps
 * them. One look at the directory is cheaper than thirty failing looks at its entries.
 */
export function protectedCandidates(directory: string, scopes: readonly ProtectedScope[]): string[] {
  const names = namesIn(directory);
  return protectedForms(scopes).map((form) => form.split("/"))
    .filter(([first = ""]) => names.has(first) || first.includes("*"))
    .flatMap((parts) => expand(directory, parts));
}

/** Compiled once for all calls: every command looks for protected paths. */
const nameTests = new Map<string, GlobTest>();

function nameTest(glob: string): GlobTest {
  let test = nameTests.get(glob);
  if (!test) nameTests.set(glob, test = compileGlobs([glob], { dialect: "ignore" }));
  return test;
}

function expand(directory: string, [first = "", ...rest]: readonly string[]): string[] {
  const names = first.includes("*") ? [...namesIn(directory)].filter(nameTest(first)) : [first];
  const paths = names.map((name) => `${directory === "/" ? "" : directory}/${name}`);
  return rest.length === 0 ? paths : paths.flatMap((path) => expand(path, rest));
}

function namesIn(directory: string): ReadonlySet<string> {
  try {
    return new Set([...Deno.readDirSync(directory)].map((entry) => entry.name));
  } catch {
    return new Set();
  }
}
