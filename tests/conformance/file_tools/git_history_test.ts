import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../src/tool/builtin/apply_patch/tool.ts";
import { type Commit, makeHistory, type Tree } from "./git_history.ts";
import { removeTree } from "../../support/remove_tree.ts";

/** All files below a directory in the format of the history. */
async function readTree(
  directory: string,
  prefix = "",
): Promise<Map<string, { text: string; executable: boolean }>> {
  const found = new Map<string, { text: string; executable: boolean }>();
  for await (const entry of Deno.readDir(`${directory}/${prefix}`)) {
    const path = prefix + entry.name;
    if (entry.isDirectory) {
      for (const [name, file] of await readTree(directory, `${path}/`)) found.set(name, file);
      continue;
    }
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      await Deno.readFile(`${directory}/${path}`),
    );
    found.set(path, {
      text,
      executable: (((await Deno.stat(`${directory}/${path}`)).mode ?? 0) & 0o100) !== 0,
    });
  }
  return found;
}

function difference(actual: Tree, expected: Tree): string | undefined {
  for (const path of new Set([...actual.keys(), ...expected.keys()])) {
    const [a, b] = [actual.get(path), expected.get(path)];
    if (a?.text !== b?.text) return `${path} has other bytes`;
    if (a?.executable !== b?.executable) return `${path} has another mode`;
  }
  return undefined;
}

async function writeTree(directory: string, tree: Tree): Promise<void> {
  for await (const entry of Deno.readDir(directory)) {
    await removeTree(`${directory}/${entry.name}`);
  }
  for (const [path, file] of tree) {
    await Deno.mkdir(`${directory}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${directory}/${path}`, file.text, { mode: file.executable ? 0o755 : 0o644 });
  }
}

/** Applies every commit to a directory and returns those with a wrong result. */
async function replay(directory: string, commits: readonly Commit[]): Promise<string[]> {
  const problems: string[] = [];
  let before: Tree = new Map();
  for (const [index, commit] of commits.entries()) {
    if (commit.patch.trim() !== "") {
      const result = await APPLY_PATCH.execute({ patch: commit.patch }, makeToolContext(directory));
      const expected = result.isError ? before : commit.tree;
      const wrong = difference(await readTree(directory), expected);
      if (wrong) problems.push(`commit ${index}: ${wrong}`);
      if (result.isError) problems.push(`commit ${index}: ${result.content}`);
      if (wrong || result.isError) await writeTree(directory, commit.tree);
    }
    before = commit.tree;
  }
  return problems;
}

for (
  const options of [["-M"], ["-M", "-C", "--find-copies-harder", "-U1"], ["--no-renames", "--minimal", "-U8"]]
) {
  Deno.test(`apply_patch reproduces every commit that git log -p ${options.join(" ")} prints`, async () => {
    await using repository = await makeTempDir();
    await using work = await makeTempDir();
    const commits = await makeHistory(repository.path, 200, 7 + options.length, options);
    const problems = await replay(work.path, commits);
    // The bar is 99.5 %; a refusal must leave everything as it was, which replay checks too.
    assert(problems.length <= commits.length / 200, problems.join("\n"));
    assertEquals(problems, []);
  });
}
