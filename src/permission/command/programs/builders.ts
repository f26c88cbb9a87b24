import { type Call, dynamic, type Found, type Program } from "../program.ts";
import { isOpenFile } from "../languages/embedded_code.ts";
import { SCRIPTS } from "./interpreters.ts";

const MAKE_FILE =
  /^(?:-[A-Za-z]*f|--(?:f|fi|fil|file|m|ma|mak|make|makef|makefi|makefil|makefile))(?:=(.*))?$/s;
const ATTACHED = /^-[bBdikLnpqrRsStvw]*f(.+)$/s;
/** Variables by which make itself decides what runs. */
const MAKE_VARIABLES = /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS|MAKEFILES|MAKE|\.RECIPEPREFIX)$/;
const ASSIGNMENT = /^([^\s=:+?!]+)\s*(?:[:+?!]|::|:::)?=(.*)$/s;

/**
 * Returns what make is handed beside the rules of its project; values of its variables may stand for
 * programs.
 */
function make({ name, args }: Call): Found {
  const runs = args.flatMap((word) => {
    const argv = (ASSIGNMENT.exec(word)?.[2] ?? "").split(/\s+/).filter((each) => each !== "");
    return argv.length > 0 ? [{ argv, at: 0, refusals: true as const }] : [];
  });
  return { ...makeCode(name, args), runs };
}

function makeCode(name: string, args: readonly string[]): Found | undefined {
  for (const [i, word] of args.entries()) {
    const file = MAKE_FILE.exec(word);
    const path = file ? file[1] ?? args[i + 1] ?? "" : ATTACHED.exec(word)?.[1];
    if (path !== undefined && isOpenFile(path)) {
      return dynamic(`${name} reads its rules from ${path || "nowhere"}`);
    }
    if (/^(?:-[CI]|--(?:directory|include-dir)=)?\/(?:dev|proc)\/(?!null$)/.test(word)) {
      return dynamic(`${name} is sent to ${word.slice(0, 30)}`);
    }
    if (/^-[A-Za-z]*E/.test(word)) return dynamic(`${name} is handed rules (${word.slice(0, 20)})`);
    const [, variable = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
    const asks = /!=|\$[({]\s*shell\b|`|\$\$[({]/.test(word) && ASSIGNMENT.test(word);
    if (MAKE_VARIABLES.test(variable) || asks || /\$[({]/.test(value)) {
      return dynamic(`${name} is given ${variable} as code`);
    }
  }
  return undefined;
}

/** `cmake -E` can run a command that stands somewhere in its words. */
function cmake({ name, args, at }: Call): Found | undefined {
  if (args[0] !== "-E" || !/^(?:env|chdir|time)$/.test(args[1] ?? "")) return undefined;
  const runs = args.map((_, i) => ({ argv: args.slice(i), at: at + 1 + i, refusals: true as const }));
  return { ...dynamic(`${name} is used in a way that is not known here`), runs };
}

const PACKAGES =
  /^(?:i|ci|install|add|update|upgrade|publish|audit|outdated|view|info|search|create|init|dlx|get|fetch|download|require|tidy|sync|push|login|restore)$/;
const PYTHON_FILES = /\.(?:py|pth|toml|cfg|ini)$/;
const NPM = "script-shell call node-options shell";

/** Package managers, build tools, test runners and linters. */
export const BUILDERS: readonly Program[] = [
  {
    names: "make gmake",
    codeLong: "eval environment-overrides",
    obeys: /(?:^|\/)(?:GNUm|m|M)akefile$|\.mk$/,
    prints: "--version -v --help -h",
    read: make,
  },
  { names: "remake", obeys: /(?:^|\/)(?:GNUm|m|M)akefile$|\.mk$/, read: make },
  {
    names: "npm",
    codeLong: NPM,
    obeys: SCRIPTS,
    network: PACKAGES,
    registries: "npm",
    prints: "--version -v",
    offers: "run+ test ci install",
    read: ({ args }) =>
      args.includes("pkg") && args.includes("set") ? { writes: [{ path: "package.json" }] } : undefined,
  },
  {
    names: "pnpm",
    codeLong: "script-shell shell-mode",
    obeys: SCRIPTS,
    network: PACKAGES,
    registries: "npm",
    mentions: "first",
    offers: "run+ install test",
  },
  {
    names: "yarn",
    obeys: SCRIPTS,
    network: PACKAGES,
    registries: "npm yarn",
    mentions: "first",
    offers: "run+ install test",
  },
  { names: "jest vitest mocha eslint", obeys: SCRIPTS, offers: "." },
  { names: "vite webpack", obeys: SCRIPTS },
  { names: "tsc prettier ruff black mypy flake8 gofmt rustfmt phpunit", offers: ".", prints: "--version" },
  {
    names: "shellcheck",
    files: "reads",
    readOnly: {
      options:
        "axC::e:f:i:o:P:s:S:W: shell= format= exclude= include= severity= external-sources color=? enable= norc version",
    },
    offers: ".",
  },
  {
    names: "pytest",
    code: /^-p|^--(?:pdbcls|rootdir|confcutdir)/,
    obeys: PYTHON_FILES,
    offers: ".",
  },
  { names: "tox nox uv poetry", obeys: PYTHON_FILES, network: PACKAGES, registries: "python" },
  {
    names: "pip#",
    obeys: PYTHON_FILES,
    network: PACKAGES,
    registries: "python",
    prints: "--version -V",
    offers: "list show",
  },
  {
    names: "cargo",
    code: /^--config/,
    obeys: /\.(?:rs|toml)$/,
    network: PACKAGES,
    registries: "rust",
    offers: "build test check clippy fmt",
  },
  { names: "rustc", obeys: /\.(?:rs|toml)$/, outputs: "-o" },
  {
    names: "go",
    code: /^-{1,2}(?:exec|toolexec|vettool)(?:=|$)/,
    obeys: /\.go$/,
    outputs: "-o",
    network: PACKAGES,
    registries: "go",
    prints: "version",
    read: ({ args: [sub, ...names] }) =>
      sub === "env" ? { readOnly: names.every((name) => /^[A-Z][A-Z0-9_]*$/.test(name)) } : undefined,
    offers: "build test vet fmt mod list",
  },
  { names: "prove", obeys: /\.(?:p[lm]|t)$/ },
  {
    names: "rake bundle gem",
    obeys: /\.(?:rb|ru)$|(?:Rake|Gem)file$/,
    network: PACKAGES,
    registries: "ruby",
  },
  { names: "rspec", obeys: /\.(?:rb|ru)$|(?:Rake|Gem)file$/, offers: "." },
  {
    names: "cmake ctest",
    code: /^(?:-P|--build-and-test|--script)$/,
    obeys: /CMakeLists\.txt$|\.(?:cmake|ninja)$/,
    read: cmake,
    prints: "--version --help",
  },
  { names: "ninja", obeys: /CMakeLists\.txt$|\.(?:cmake|ninja)$/, prints: "--version" },
  {
    names: "gradle mvn",
    obeys: /\.(?:gradle|kts|xml|sbt|java|kt|scala)$/,
    registries: "java",
    offers: "test",
  },
  { names: "gradlew mvnw ant sbt", obeys: /\.(?:gradle|kts|xml|sbt|java|kt|scala)$/ },
  { names: "dotnet", network: PACKAGES, registries: "dotnet", offers: "build test" },
  { names: "composer", network: PACKAGES, registries: "php" },
  { names: "just task", obeys: /(?:^|\/)\.?[Jj]ustfile$|Taskfile\.ya?ml$/ },
  { names: "mise", runs: "anything", obeys: /(?:^|\/)\.?[Jj]ustfile$|Taskfile\.ya?ml$/ },
  {
    names: "gcc cc clang g++",
    code: /^-(?:wrapper|fplugin|specs|B)/,
    outputs: "-o",
    prints: "--version -v -dumpversion -dumpmachine",
    read: ({ args }) =>
      args.some((word) => /^-(?:[cSE]$|M|fsyntax|o)/.test(word)) || args.length < 1 ||
        args.every((word) => /^--?\w*version$|^-v$|^-dump/.test(word))
        ? undefined
        : { writes: [{ path: "a.out" }] },
  },
  { names: "c++ clang++", code: /^-(?:wrapper|fplugin|specs|B)/, prints: "--version" },
  { names: "java javac javap", prints: "-version --version -help --help" },
  { names: "svn", codeLong: "diff-cmd diff3-cmd editor-cmd config-option config-dir", network: true },
  { names: "hg", codeLong: "config config-file", network: true },
  { names: "fzf", codeLong: "preview bind" },
  { names: "dpkg", code: /^--(?:pre-invoke|post-invoke|status-logger)/ },
  { names: "apt apt-get aptitude", code: /^-o|^--option|Invoke/, network: true },
];
