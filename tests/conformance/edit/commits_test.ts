import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../src/tool/builtin/apply_patch/tool.ts";
import { EDIT_FILE, MULTI_EDIT } from "../../../src/tool/builtin/edit_file/tool.ts";
import { READ_FILE } from "../../../src/tool/builtin/read_file/tool.ts";
import { encodeText } from "../../../src/tool/text/encoding.ts";
import { codeCommits, type FileCommit, type FileFormat } from "./code_history.ts";
import { callsFor, type Form, FORMS } from "./commit_forms.ts";
import { SEED } from "../../support/seed.ts";

const TOOLS = { apply_patch: APPLY_PATCH, edit_file: EDIT_FILE, multi_edit: MULTI_EDIT };

/** Minimum share of commits that apply; the rest must be refused without a change. */
const BARS: Readonly<Record<Form, number>> = {
  unified: 0.999,
  begin: 0.985,
  anchored: 0.985,
  edit_file: 0.95,
  multi_edit: 0.95,
};

function bytesOf(text: string, { encoding, bom }: FileFormat): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(text, encoding, bom);
  if (typeof bytes === "string") throw new Error(`The encoding ${encoding} has no ${bytes}`);
  return bytes;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

async function play(dir: string, form: Form, commit: FileCommit): Promise<"exact" | "wrong" | string> {
  const { before, after, format } = commit;
  const path = `${dir}/f.txt`;
  const start = bytesOf(before, format);
  await Deno.writeFile(path, start);
  const context = makeToolContext(dir);
  await READ_FILE.execute({ path: "f.txt" }, context);
  let refusal = "";
  for (const { tool, args } of callsFor(form, before, after, format.bom)) {
    const kept = await Deno.readFile(path);
    const result = await TOOLS[tool].execute(args, context);
    if (!result.isError) continue;
    if (!same(kept, await Deno.readFile(path))) return "wrong";
    refusal ||= result.content;
  }
  if (refusal !== "") return refusal;
  return same(await Deno.readFile(path), bytesOf(after, format)) ? "exact" : "wrong";
}

/** Commits of this repository, if it has a history: real changes of real code. */
async function ownCommits(limit: number): Promise<FileCommit[]> {
  const git = async (...args: string[]) => {
    const { stdout, success } = await new Deno.Command("git", { args, stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout) : "";
  };
  const names = await git(
    "log",
    "--no-merges",
    "--diff-filter=M",
    "--format=%x00%H",
    "--name-only",
    `-${limit}`,
  );
  const found: FileCommit[] = [];
  for (const entry of names.split("\0").slice(1)) {
    const [hash = "", , ...files] = entry.trim().split("\n");
    for (const file of files.filter((name) => /\.(ts|md|toml)$/.test(name)).slice(0, 2)) {
      const [before, after] = await Promise.all([
        git("show", `${hash}~:${file}`),
        git("show", `${hash}:${file}`),
      ]);
      if (before === "" || after === "" || !before.endsWith("\n") || !after.endsWith("\n")) continue;
      found.push({ before, after, format: { encoding: "utf-8", bom: false, eol: "\n" } });
    }
  }
  return found;
}

async function check(form: Form, commits: readonly FileCommit[], bar: number): Promise<void> {
  await using dir = await makeTempDir();
  const refused: string[] = [];
  const wrong: number[] = [];
  for (const [index, commit] of commits.entries()) {
    const outcome = await play(dir.path, form, commit);
    if (outcome === "wrong") wrong.push(index);
    else if (outcome !== "exact") refused.push(`commit ${index}: ${outcome}`);
  }
  assertEquals(wrong, [], `${form}: commits that landed in the wrong place`);
  const share = 1 - refused.length / commits.length;
  assert(
    share >= bar,
    `${form}: ${share.toFixed(4)} of ${commits.length}\n${refused.slice(0, 8).join("\n")}`,
  );
}

/** The commits for which the minimum shares are set. */
const CORPUS_SEED = 1418735446;

let own: Promise<FileCommit[]> | undefined;

for (const form of FORMS) {
  Deno.test(`generated commits written as ${form} apply exactly or are refused`, async () => {
    await check(form, codeCommits(300, CORPUS_SEED + FORMS.indexOf(form)), BARS[form]);
    // The share of a new sample varies by a few percent; no commit of it may land in the wrong place.
    await check(form, codeCommits(100, SEED + FORMS.indexOf(form)), BARS[form] - 0.05);
  });

  Deno.test(`commits of this repository written as ${form} never apply in the wrong place`, async () => {
    const commits = await (own ??= ownCommits(25));
    if (commits.length > 0) await check(form, commits, 0.9);
  });
}
