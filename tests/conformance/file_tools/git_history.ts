/**
 * A random history of text files, created with git: the change of each commit as printed by git, and the
 * expected result.
 */
import { Random } from "../../support/seed.ts";

export interface HistoryFile {
  readonly text: string;
  readonly executable: boolean;
}

export type Tree = ReadonlyMap<string, HistoryFile>;

export interface Commit {
  readonly patch: string;
  /** All files after the commit. */
  readonly tree: Tree;
}

const WORDS = [
  "return",
  "value",
  "中文",
  "const",
  "  indented",
  "\ttab",
  "}",
  "{",
  "",
  "--- a",
  "+++ b",
  "@@ -1 +1 @@",
  "x\u200b",
  "é",
];

class History {
  readonly #random: Random;
  readonly #files = new Map<string, HistoryFile>();
  #names = 0;

  constructor(random: Random) {
    this.#random = random;
    for (let index = 0; index < 12; index++) this.#create();
  }

  /** Changes a few files at random and returns all of them. */
  step(): Tree {
    const count = 1 + this.#random.below(4);
    for (let index = 0; index < count; index++) this.#change();
    return new Map(this.#files);
  }

  #change(): void {
    const path = this.#random.pick([...this.#files.keys()]);
    const file = this.#files.get(path);
    const dice = this.#random.next();
    if (!file || dice < 0.1 || this.#files.size < 6) this.#create();
    else if (dice < 0.16) this.#files.delete(path);
    else if (dice < 0.22) {
      this.#files.delete(path);
      this.#files.set(
        this.#newName(),
        this.#random.chance(0.5) ? file : { ...file, text: this.#edited(file.text) },
      );
    } else if (dice < 0.26) this.#files.set(path, { ...file, executable: !file.executable });
    else if (dice < 0.29) this.#files.set(this.#newName(), { ...file });
    else this.#files.set(path, { ...file, text: this.#edited(file.text) });
  }

  #create(): void {
    const eol = this.#random.pick(["\n", "\n", "\n", "\r\n", "mixed"]);
    const count = this.#random.pick([0, 1, 5, 30, 200]);
    const lines = Array.from(
      { length: count },
      () => this.#line() + (eol === "mixed" ? this.#random.pick(["\n", "\r\n"]) : eol),
    );
    const text = lines.join("");
    const cut = this.#random.chance(0.2) ? text.replace(/\r?\n$/, "") : text;
    this.#files.set(this.#newName(), { text: cut, executable: this.#random.chance(0.1) });
  }

  #newName(): string {
    const directory = this.#random.pick(["", "src/", "a/b/", "with space/", "ünï/"]);
    const stem = this.#random.pick(["file", "two words", "-dash", 'quo"te', "tab", "日本"]);
    return `${directory}${stem}${this.#names++}.txt`;
  }

  #line(): string {
    const words = Array.from({ length: 1 + this.#random.below(4) }, () => this.#random.pick(WORDS));
    return this.#random.chance(0.6) ? `${words.join(" ")} ${this.#random.below(50)}` : words.join(" ");
  }

  #edited(text: string): string {
    const lines = text.split(/(?<=\n)/);
    const eol = text.includes("\r\n") && this.#random.chance(0.8) ? "\r\n" : "\n";
    for (let count = 1 + this.#random.below(3); count > 0; count--) {
      const at = this.#random.below(lines.length + 1);
      const added = Array.from({ length: this.#random.below(4) }, () => this.#line() + eol);
      lines.splice(at, this.#random.below(4), ...added);
    }
    const joined = lines.join("");
    if (this.#random.chance(0.08)) return joined.replace(/\r?\n$/, "");
    return this.#random.chance(0.05) && !joined.endsWith("\n") ? `${joined}\n` : joined;
  }
}

/**
 * Makes `count` commits in an empty directory; `options` go to `git log`. The first commit is made of new
 * files only.
 */
export async function makeHistory(
  directory: string,
  count: number,
  seed: number,
  options: readonly string[] = ["-M"],
): Promise<Commit[]> {
  const history = new History(new Random(seed));
  const trees: Tree[] = [];
  for (let index = 0; index < count; index++) trees.push(history.step());
  await git(directory, ["init", "-q", "-b", "main"]);
  await git(directory, ["fast-import", "--quiet"], importStream(trees));
  const log = await git(directory, ["log", "-p", "--reverse", "--root", "--format=%x00", ...options]);
  const patches = log.split("\0").slice(1);
  if (patches.length !== trees.length) {
    throw new Error(`git shows ${patches.length} commits instead of ${trees.length}`);
  }
  return trees.map((tree, index) => ({ tree, patch: patches[index] ?? "" }));
}

function importStream(trees: readonly Tree[]): string {
  const size = (text: string) => new TextEncoder().encode(text).length;
  const quoted = (path: string) => `"${path.replace(/["\\]/g, "\\$&")}"`;
  const commits = trees.map((tree, index) => {
    const files = [...tree].map(([path, file]) =>
      `M ${file.executable ? "100755" : "100644"} inline ${quoted(path)}\ndata ${
        size(file.text)
      }\n${file.text}\n`
    );
    return `commit refs/heads/main\ncommitter t <t@example.com> ${index} +0000\ndata 1\nc\ndeleteall\n${
      files.join("")
    }\n`;
  });
  return commits.join("");
}

async function git(directory: string, args: readonly string[], input = ""): Promise<string> {
  const child = new Deno.Command("git", {
    args: ["-c", "core.autocrlf=false", ...args],
    cwd: directory,
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close()).catch(() => {});
  const output = await child.output();
  await written;
  if (!output.success) throw new Error(`git ${args[0]} failed: ${new TextDecoder().decode(output.stderr)}`);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(output.stdout);
}
