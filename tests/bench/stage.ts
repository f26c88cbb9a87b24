/** The directories a benchmark runs in. */
import { mustRun } from "../../scripts/process.ts";
import { LONG_STEPS } from "./model/scripts.ts";
import { removeTree } from "../support/remove_tree.ts";

const SEARCH_FILES = 15_000;
const SEARCH_DIRECTORIES = 300;
const WORK_FILES = 500;

export interface Stage extends AsyncDisposable {
  readonly root: string;
  /** A git repository with 500 small files, a test of them, and the pages of the long scenario. */
  readonly workspace: string;
  /** 15,000 files, about 70 MB, to search in; created at the first use. */
  tree(): Promise<string>;
  /** A copy of the runtime that only programs under test are started from. */
  runtime(): Promise<string>;
  /** Resets the workspace. */
  reset(): Promise<void>;
}

/** Passes when a part matches the file of expectations. */
const CHECK = `expected=$(cat expected/part_$1.txt) || exit 1
grep -q -F -e "$expected" src/part_$1.ts || { echo "part $1 failed"; exit 1; }
echo "part $1 passed"
`;

export async function makeStage(): Promise<Stage> {
  const root = await Deno.makeTempDir({ prefix: "reasonix-bench-" });
  const workspace = `${root}/workspace`;
  await Promise.all(["src", "pages"].map((name) => Deno.mkdir(`${workspace}/${name}`, { recursive: true })));
  for (let index = 0; index < WORK_FILES; index++) {
    await Deno.writeTextFile(`${workspace}/src/part_${index}.ts`, smallFile(index));
  }
  for (let index = 0; index < LONG_STEPS; index++) {
    await Deno.writeTextFile(`${workspace}/pages/page_${index}.txt`, page(index));
  }
  await Deno.writeTextFile(`${workspace}/check.sh`, CHECK);
  await git(workspace, ["init", "-q"]);
  await git(workspace, ["add", "."]);
  await git(workspace, [
    "-c",
    "user.name=bench",
    "-c",
    "user.email=bench@localhost",
    "commit",
    "-q",
    "-m",
    "All files",
  ]);
  let runtime: Promise<string> | undefined;
  let tree: Promise<string> | undefined;
  return {
    root,
    workspace,
    tree: () => tree ??= makeTree(`${root}/tree`),
    runtime: () => runtime ??= copyRuntime(root),
    async reset() {
      await git(workspace, ["checkout", "-q", "."]);
      await git(workspace, ["clean", "-fdq"]);
    },
    [Symbol.asyncDispose]: () => removeTree(root),
  };
}

async function copyRuntime(root: string): Promise<string> {
  const path = `${root}/runtime`;
  await Deno.copyFile(Deno.execPath(), path);
  return path;
}

async function git(directory: string, args: readonly string[]): Promise<void> {
  await mustRun("git", { args: ["-C", directory, ...args] });
}

function smallFile(index: number): string {
  return `/** Part ${index}. */\nexport function part${index}(value: number): number {\n  return value * ${index} + 1;\n}\n`;
}

/** 8 KB of distinct lines. */
function page(index: number): string {
  let text = "";
  for (let line = 0; text.length < 8000; line++) {
    text += `page ${index} line ${line}: the quick brown fox jumps over it\n`;
  }
  return text;
}

/** Files of about 4.7 KB; every hundredth holds what grep looks for and has the name glob looks for. */
async function makeTree(tree: string): Promise<string> {
  const filler = Array.from(
    { length: 90 },
    (_, line) => `  const value_${line} = compute(${line}, "some text here");\n`,
  )
    .join("");
  for (let directory = 0; directory < SEARCH_DIRECTORIES; directory++) {
    await Deno.mkdir(`${tree}/folder_${directory}`, { recursive: true });
    for (let file = 0; file < SEARCH_FILES / SEARCH_DIRECTORIES; file++) {
      const number = directory * (SEARCH_FILES / SEARCH_DIRECTORIES) + file;
      const found = number % 100 === 0;
      const text = `export function work_${number}() {\n${filler}${
        found ? `  // needle_${number}\n` : ""
      }}\n`;
      await Deno.writeTextFile(
        `${tree}/folder_${directory}/file_${number}${found ? "_needle" : ""}.ts`,
        text,
      );
    }
  }
  return tree;
}
