/** The folders a benchmark runs in. */
import { mustRun } from "../../scripts/process.ts";
import { LONG_STEPS } from "./scripts.ts";

const SEARCH_FILES = 15_000;
const SEARCH_FOLDERS = 300;
const WORK_FILES = 500;

export interface Stage extends AsyncDisposable {
  readonly root: string;
  /** A git repository with 500 small files and the pages of the long scenario. */
  readonly workspace: string;
  /** 15,000 files, about 70 MB, to search in. */
  readonly tree: string;
}

export async function makeStage(withTree: boolean): Promise<Stage> {
  const root = await Deno.makeTempDir({ prefix: "reasonix-bench-" });
  const workspace = `${root}/workspace`;
  const tree = `${root}/tree`;
  await Promise.all(["src", "pages"].map((name) => Deno.mkdir(`${workspace}/${name}`, { recursive: true })));
  for (let index = 0; index < WORK_FILES; index++) {
    await Deno.writeTextFile(`${workspace}/src/part_${index}.ts`, smallFile(index));
  }
  for (let index = 0; index < LONG_STEPS; index++) {
    await Deno.writeTextFile(`${workspace}/pages/page_${index}.txt`, page(index));
  }
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
  if (withTree) makeTree(tree);
  return { root, workspace, tree, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

async function git(folder: string, args: readonly string[]): Promise<void> {
  await mustRun("git", { args: ["-C", folder, ...args] });
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
function makeTree(tree: string): void {
  const filler = Array.from(
    { length: 90 },
    (_, line) => `  const value_${line} = compute(${line}, "some text here");\n`,
  )
    .join("");
  for (let folder = 0; folder < SEARCH_FOLDERS; folder++) {
    Deno.mkdirSync(`${tree}/folder_${folder}`, { recursive: true });
    for (let file = 0; file < SEARCH_FILES / SEARCH_FOLDERS; file++) {
      const number = folder * (SEARCH_FILES / SEARCH_FOLDERS) + file;
      const found = number % 100 === 0;
      const text = `export function work_${number}() {\n${filler}${
        found ? `  // needle_${number}\n` : ""
      }}\n`;
      Deno.writeTextFileSync(`${tree}/folder_${folder}/file_${number}${found ? "_needle" : ""}.ts`, text);
    }
  }
}
