import { isFile } from "../../path/probe.ts";
import type { VerifyCommand } from "./verify_command.ts";

/** What a runner can be told about the changed files. */
interface RelatedInput {
  /** Its arguments as they are. */
  readonly rest: string;
  /** Changed files that ask for the command and are there, from the working directory. */
  readonly files: readonly string[];
  readonly cwd: string;
}

interface Runner {
  /** What its command line begins with; the rest must be options alone. */
  readonly begins: RegExp;
  /** The part of the tests that the files can break, as a command line; undefined: it cannot be told. */
  readonly narrow: (input: RelatedInput) => string | undefined;
}

/** Rest of a line that names no tests of its own and does nothing else. */
const OPTIONS_ALONE = /^(?:\s+-{1,2}[\w-]+(?:=[\w./,:@-]+)?)*\s*$/;

const RUNNERS: readonly Runner[] = [
  { begins: /^deno test/, narrow: (input) => withFiles("deno test", input, nearTests(input, DENO_TESTS)) },
  { begins: /^(?:python3? -m )?pytest/, narrow: pytest },
  { begins: /^(?:npx )?vitest(?: run)?/, narrow: ({ files }) => listed("npx vitest related --run", files) },
  {
    begins: /^(?:npx )?jest/,
    narrow: ({ files }) => listed("npx jest --passWithNoTests --findRelatedTests", files),
  },
  { begins: /^cargo test/, narrow: cargo },
  { begins: /^go test \.\/\.\.\./, narrow: ({ files, rest }) => goPackages("go test", files, rest) },
  { begins: /^go vet \.\/\.\.\./, narrow: ({ files, rest }) => goPackages("go vet", files, rest) },
];

/** Managers of packages only pass on what a script says. */
const SCRIPT_TEXT = /^(?:deno task \w+|(?:npm|pnpm|yarn|bun) (?:run )?\w+)$/;

/**
 * The command line that tests only what these files could have broken, where the runner allows that; it is
 * never the whole.
 */
export function relatedCommand(
  { line, defined }: Pick<VerifyCommand, "line" | "defined">,
  files: readonly string[],
  cwd: string,
): string | undefined {
  const text = defined && SCRIPT_TEXT.test(line) ? defined.text : line;
  const there = files.filter((file) => !file.startsWith("/") && isPlain(file) && isFile(`${cwd}/${file}`));
  if (there.length === 0) return undefined;
  for (const { begins, narrow } of RUNNERS) {
    const start = begins.exec(text)?.[0];
    if (start === undefined || !OPTIONS_ALONE.test(text.slice(start.length))) continue;
    const narrowed = narrow({ rest: text.slice(start.length).trimEnd(), files: there, cwd });
    return narrowed === text ? undefined : narrowed;
  }
  return undefined;
}

/** Empty for what lies in the working directory itself. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Names that no shell and no runner takes for something else. */
function isPlain(path: string): boolean {
  return /^[\w.@+][\w./@+-]*$/.test(path);
}

function listed(start: string, files: readonly string[]): string | undefined {
  return files.length === 0 ? undefined : `${start} ${files.join(" ")}`;
}

function withFiles(start: string, { rest }: RelatedInput, files: readonly string[]): string | undefined {
  return listed(`${start}${rest}`, files);
}

interface TestNames {
  readonly isTest: RegExp;
  /** Names of the tests of a module. */
  readonly names: (stem: string, ending: string) => readonly string[];
}

const DENO_TESTS: TestNames = {
  isTest: /[_.]test\.\w+$/,
  names: (stem, ending) => [`${stem}_test${ending}`, `${stem}.test${ending}`],
};

const PYTHON_TESTS: TestNames = {
  isTest: /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/,
  names: (stem, ending) => [`test_${stem}${ending}`, `${stem}_test${ending}`],
};

/** Tests among the files, and those that lie where people put the tests of the others. */
function nearTests({ files, cwd }: RelatedInput, { isTest, names }: TestNames): string[] {
  const found = new Set<string>();
  for (const file of files) {
    if (isTest.test(file)) found.add(file);
    for (const candidate of isTest.test(file) ? [] : candidates(file, names)) {
      if (isFile(`${cwd}/${candidate}`)) found.add(candidate);
    }
  }
  return [...found].sort();
}

function candidates(file: string, names: TestNames["names"]): string[] {
  const slash = file.lastIndexOf("/");
  const folder = file.slice(0, slash + 1);
  const [, stem = "", ending = ""] = /^(.*?)(\.\w+)$/.exec(file.slice(slash + 1)) ?? [];
  const inner = folder.replace(/^(?:src|lib|app)\//, "");
  const places = [folder, `${folder}__tests__/`, `${folder}tests/`];
  for (const root of ["tests/", "test/", "tests/unit/"]) places.push(root + inner, root + folder, root);
  return [...new Set(places)].flatMap((place) => names(stem, ending).map((name) => place + name));
}

function pytest(input: RelatedInput): string | undefined {
  return withFiles("pytest", input, nearTests(input, PYTHON_TESTS));
}

/** The packages of a workspace that the files belong to, unless the root is one of them. */
function cargo({ files, rest, cwd }: RelatedInput): string | undefined {
  const names = new Set<string>();
  for (const file of files) {
    const name = crateOf(file, cwd);
    if (name === undefined) return undefined;
    names.add(name);
  }
  return `cargo test ${[...names].sort().map((name) => `-p ${name}`).join(" ")}${rest}`;
}

function crateOf(file: string, cwd: string): string | undefined {
  for (let folder = folderOf(file); folder !== ""; folder = folderOf(folder)) {
    try {
      const text = Deno.readTextFileSync(`${cwd}/${folder}/Cargo.toml`);
      return /^\[package\][^[]*?^name\s*=\s*"([\w-]+)"/ms.exec(text)?.[1];
    } catch {
      // It lies further up.
    }
  }
  return undefined;
}

function goPackages(start: string, files: readonly string[], rest: string): string | undefined {
  if (!files.every((file) => file.endsWith(".go"))) return undefined;
  const folders = new Set(files.map((file) => file.includes("/") ? `./${folderOf(file)}` : "."));
  return `${start}${rest} ${[...folders].sort().join(" ")}`;
}
