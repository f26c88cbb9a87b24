/** glob against `rg --files` and picomatch, on a tree with names and ignore files of every kind. */
import { findFiles } from "../../../src/tool/builtin/glob/glob.ts";
import picomatch from "picomatch";
import { findRipgrep } from "../../../src/tool/search/ripgrep.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { needs } from "../../support/tools.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { growTree } from "./tree.ts";

const FLAGS = ["--no-config", "--hidden", "--no-require-git", "-g", "!.git", "--null", "--files"];

const NAMES = [
  "new\nline.ts",
  "変数.ts",
  "👍 emoji.test.ts",
  ".ts",
  "ts",
  "plain",
  "[id].ts",
  "(group)/page.ts",
  "[...slug]/route.ts",
  "a+b.ts",
  "!not.ts",
  "@at.ts",
  '"quoted".ts',
  "back\\slash.ts",
  "{brace}.ts",
  "pi|pe.ts",
  "trailing .ts ",
  "UPPER.TS",
  "x.ts/in_folder.ts",
  "deep/er/still/one.d.ts",
];

/** Patterns alone and within longer ones: plain endings, wildcards, groups, escapes, several patterns. */
const PATTERNS = [
  "**",
  "**/*",
  "*",
  "*.ts",
  "**/*.ts",
  "**/*ts",
  "**/.ts",
  "**/ts",
  "**/plain",
  "**/*e*",
  "**/*.d.ts",
  "**/*.{ts,md}",
  "**/*.[tj]s",
  "**/*.t?",
  "**/*.@(ts|js)",
  "**/!(file*).ts",
  "**/+(a|b|+).ts",
  "**/[id].ts",
  "**/(group)/*.ts",
  "**/[[]id].ts",
  "**/(new|old)?line.ts",
  "**/back\\\\slash.ts",
  "**/*\\.ts",
  '**/"quoted".ts',
  "**/変*.ts",
  "**/*👍*.ts",
  "deep/**/one.d.ts",
  "./**/x.ts/*.ts",
  "pack7/src/**/*.{log,ts}",
  "pack*/{src,build}/part?/file1*.md",
  "**/src/**/*.ts,**/*.md,!**/file1*",
  "**/*.ts,**/plain,!pack*/**",
  "**/Makefile*,**/*.js",
  "**/node_modules/**/*.ts",
  "**/.",
  "**/*.",
];

/** Not supported by the package: names with a line end or quotation marks, and a sign as an alternative. */
const ONLY_HERE: Readonly<Record<string, readonly string[]>> = {
  "**": ["new\nline.ts"],
  "**/+(a|b|+).ts": ["a+b.ts"],
  "**/(new|old)?line.ts": ["new\nline.ts"],
  '**/"quoted".ts': ['"quoted".ts'],
};

Deno.test({
  ...needs(
    "rg",
    findRipgrep("/nowhere") !== undefined,
    "findFiles gives for every pattern what ripgrep lists and the pattern matches",
  ),
  async fn(t) {
    await using dir = await makeTempDir();
    assert(await growTree(dir.path) > 10_000);
    oddNames(dir.path);
    oddIgnores(dir.path);
    const all = await listed(dir.path);
    assert(all.length > 1_000 && all.includes("new\nline.ts") && all.includes("bad\ufffd.ts"));
    assert(!all.some((path) => path.includes("linked_away") || path.startsWith("repo/out")));
    for (const pattern of PATTERNS) {
      await t.step(JSON.stringify(pattern), async () => {
        const parts = pattern.replace(/^\.\//, "").split(/,(?![^{]*\})/);
        const wanted = oracle(parts.filter((part) => !part.startsWith("!")));
        const unwanted = oracle(parts.filter((part) => part.startsWith("!")).map((part) => part.slice(1)));
        const more = ONLY_HERE[pattern] ?? [];
        const expected = all.filter((path) => more.includes(path) || (wanted(path) && !unwanted(path)));
        assertEquals(await found(dir.path, pattern), expected);
      });
    }
    await t.step("hidden files are never listed, for any end of the pattern", async () => {
      const hidden = (path: string) => path.includes("/deep/er") || path.endsWith("/変数.ts");
      for (const pattern of ["**", "**/*.ts", "deep/er/still/one.d.ts", "**/変数.ts"]) {
        const shown = await found(dir.path, pattern, hidden);
        assertEquals(shown.filter((path) => path.startsWith("deep/er") || path === "変数.ts"), []);
      }
    });
  },
});

/** The patterns as a package reads them, and names such as `[id]` and `(group)` as plain text. */
function oracle(patterns: readonly string[]): (path: string) => boolean {
  const plain = (pattern: string) =>
    pattern.replace(/(?<![\\@?!*+])\(([^()|]*)\)/g, "\\($1\\)").replace(
      /(?<!\\)\[([^\]]*)\]/g,
      "\\[$1\\]",
    );
  const expressions = patterns.flatMap((pattern) => [pattern, plain(pattern)]).map((pattern): RegExp =>
    picomatch.makeRe(pattern, { dot: true })
  );
  return (path) => expressions.some((expression) => expression.test(path));
}

async function found(root: string, pattern: string, hidden: (path: string) => boolean = () => false) {
  const signal = new AbortController().signal;
  const { files } = await findFiles(pattern, { root, cwd: root, hidden, signal });
  return files.map((path) => path.slice(root.length + 1)).sort();
}

/** The list of ripgrep; names that are not valid text as the runtime returns them. */
async function listed(cwd: string): Promise<string[]> {
  const { stdout } = await new Deno.Command(findRipgrep(cwd) ?? "", { args: FLAGS, cwd, stdin: "null" })
    .output();
  return new TextDecoder().decode(stdout).split("\0").filter((path) => path !== "").sort();
}

function oddNames(root: string): void {
  for (const name of NAMES) {
    const path = `${root}/${name}`;
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    Deno.writeTextFileSync(path, "");
  }
  const script =
    "printf x > \"$(printf 'bad\\377.ts')\"; mkfifo pipe.ts; ln -s plain link.ts; ln -s deep loop";
  const made = new Deno.Command("sh", { args: ["-c", script], cwd: root }).outputSync();
  assert(made.success, new TextDecoder().decode(made.stderr));
}

/** A repository in the tree with its own excludes, and an ignore file that is a link. */
function oddIgnores(root: string): void {
  const write = (path: string, text: string) => {
    Deno.mkdirSync(`${root}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
    Deno.writeTextFileSync(`${root}/${path}`, text);
  };
  write("repo/.git/HEAD", "ref: refs/heads/main\n");
  write("repo/.git/info/exclude", "out*\n");
  write("repo/kept.ts", "");
  write("repo/keep.log", "");
  write("repo/out/of/sight.ts", "");
  write("repo/out.ts", "");
  write("rules/text", "linked_away*\n");
  write("linked/linked_away.ts", "");
  write("linked/stays.ts", "");
  Deno.symlinkSync("../rules/text", `${root}/linked/.gitignore`);
}
