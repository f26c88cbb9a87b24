/**
 * Changes with which `review`, `commit` and `pr` can do little or nothing: each is one line with the remedy,
 * an exit code, and a bounded number of requests.
 */
import { git } from "../conformance/review/planter.ts";
import { assertEquals } from "../support/assert.ts";
import { HAS_GH } from "../support/fake_github.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

interface Row {
  readonly code: number;
  /** Has to be in the error and its remedy, or in what is printed where the code is 0. */
  readonly says: RegExp;
  /** Requests to the model; default: none. */
  readonly requests?: number;
  /** Directory of the programs that can be found, below the workspace; default: those of the machine. */
  readonly path?: string;
  /** Needs the program gh, without a login. */
  readonly gh?: true;
}

const NO_REPOSITORY = /error: Cannot .*: it is in no git repository\n +use .* or make one with `git init`\n/;
const BARE = /error: Cannot .*: the repository is bare, .*\n +use a directory with checked-out files\n/;
const NO_GIT = /error: Cannot find git\n +install git, and have its directory in PATH\n/;
const NO_COMMIT = /error: Cannot read the revision "\w+": this clone has no such commit\n.*`git fetch`\n/;
const NOTHING_STAGED = /error: Cannot commit: nothing is staged\n +nothing has changed either\n/;
const NO_LOGIN = /error: Cannot read pull request 1: gh is not signed in\n +sign in with `gh auth login`/;

/** By the directory below the workspace and the command line. */
const ROWS: Readonly<Record<string, Row>> = {
  "plain$ review": { code: 1, says: NO_REPOSITORY },
  "plain$ commit --yes": { code: 1, says: NO_REPOSITORY },
  "plain$ pr --yes": { code: 1, says: NO_REPOSITORY },
  "clean$ review ": { code: 1, says: NO_GIT, path: "bin/none" },
  "clean$ commit --yes ": { code: 1, says: NO_GIT, path: "bin/none" },
  "clean$ pr --yes ": { code: 1, says: NO_GIT, path: "bin/none" },
  "bare.git$ review": { code: 1, says: BARE },
  "bare.git$ commit --yes": { code: 1, says: BARE },
  "bare.git$ pr --yes": { code: 1, says: BARE },
  "empty$ review": {
    code: 0,
    says: /^Nothing to review in uncommitted changes$/m,
  },
  "empty$ review --base main": { code: 2, says: NO_COMMIT },
  "empty$ commit --yes": { code: 2, says: NOTHING_STAGED },
  "empty$ pr --yes": { code: 1, says: /has no remote\n +add one with `git remote add origin URL`/ },
  "clean$ review": { code: 0, says: /Nothing to review in main\.\.\.main, 0 commits/ },
  "clean$ review --commit none": { code: 2, says: NO_COMMIT },
  "clean$ review --base=--output=x": {
    code: 2,
    says: /it is no name of a commit\n +name a branch, a tag or a commit/,
  },
  "clean$ commit --yes": { code: 2, says: NOTHING_STAGED },
  "clean$ commit": { code: 2, says: /there is no terminal\n +add --yes/ },
  "github$ review --pr 1 ": {
    code: 1,
    says: /Cannot find the program gh, .*\n +install it from/,
    path: "bin/git",
  },
  "github$ review --pr 1": { code: 1, says: NO_LOGIN, gh: true },
  "github$ review --publish x.json --pr 1": {
    code: 2,
    says: /x\.json: it cannot be read.*\n +write it with `reason/,
  },
  "github$ pr --yes": {
    ...{ code: 0, requests: 1, path: "bin/git" },
    says: /https:\/\/github\.com\/owner\/clean\/compare\/main\.\.\.topic\?expand=1/,
  },
  "github$ pr --yes ": {
    ...{ code: 0, requests: 1, gh: true },
    says: /https:\/\/github\.com\/owner\/clean\/compare\/main\.\.\.topic\?expand=1/,
  },
  "detached$ review --base HEAD~1": { code: 0, says: /Files reviewed: 1/, requests: 1 },
  "detached$ commit --yes": { code: 0, says: /HEAD is detached: .*`git switch -c NAME`/, requests: 1 },
  "shallow$ review --base origin/other": {
    code: 1,
    says: /\n +get the history with `git fetch --unshallow`\n/,
  },
  "shallow$ review --commit HEAD": { code: 1, says: /\n +get it with `git fetch --deepen=1`\n/ },
  "shallow$ pr --yes": { code: 2, says: /no commit that origin\/main lacks\n +commit first/ },
  "binary$ review": { code: 0, says: /No findings\nFiles reviewed: 0\nNot reviewed \(binary\): logo\.png\n/ },
  "binary$ commit --yes": { code: 0, says: /generated, binary or too large: 1\n/, requests: 1 },
  "renamed$ review": { code: 0, says: /Not reviewed \(renamed without a changed line\): src\/moved\.ts/ },
  "renamed$ commit --yes": { code: 0, says: /rename src/, requests: 1 },
  "submodule$ review": {
    code: 0,
    says: /Not reviewed \(the content of a submodule\): module/,
    requests: 1,
  },
  "submodule$ commit --yes": { code: 0, says: /create mode 160000 module/, requests: 1 },
  "large$ review": {
    code: 0,
    says: /more than 20 parts: review the rest with --incremental/,
    requests: 20,
  },
  "large$ commit --yes": { code: 0, says: /10 files changed, 100000 insertions/, requests: 1 },
};

Deno.test("a change that cannot be reviewed, committed or proposed is one line with the remedy", async () => {
  await using server = startModelServer([], { fallback: answer, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepositories(world);
  const seen: string[] = [];
  for (const [line, row] of Object.entries(ROWS)) {
    if (row.gh && !HAS_GH) continue;
    const before = server.requests.length;
    const [directory = "", command = ""] = line.trim().split("$ ");
    const { code, stdout, stderr } = await world.run(command.split(" "), {
      cwd: `${world.dir}/${directory}`,
      env: {
        ...(row.path === undefined ? {} : { PATH: `${world.dir}/${row.path}` }),
        ...{ GH_CONFIG_DIR: `${world.dir}/bin/none`, GIT_CONFIG_GLOBAL: "/dev/null" },
      },
    });
    const requests = server.requests.length - before;
    const output = `${stdout}\n${stderr}`;
    if (code !== row.code || requests !== (row.requests ?? 0) || !row.says.test(output)) {
      seen.push(`${line} → ${code}, ${requests} requests\n${output}`);
    }
  }
  assertEquals(seen.join("\n"), "");
});

/** No finding of a review, and one message for everything else. */
function answer({ body }: { readonly body: string }) {
  return { text: body.includes("Find the defects") ? '{"findings": []}' : "Change the files" };
}

async function makeRepositories({ dir }: World): Promise<void> {
  const write = async (path: string, text: string | Uint8Array) => {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await (typeof text === "string" ? Deno.writeTextFile(path, text) : Deno.writeFile(path, text));
  };
  const settings = "[user]\n\tname = Author\n\temail = author@example.com\n";
  const commit = async (at: string, message: string) => {
    await git(at, ["add", "-A"]);
    await git(at, ["commit", "--quiet", "-m", message]);
  };
  for (const name of ["plain", "bin/none", "bin/git"]) {
    await Deno.mkdir(`${dir}/${name}`, { recursive: true });
  }
  const which = await new Deno.Command("which", { args: ["git"] }).output();
  await Deno.symlink(new TextDecoder().decode(which.stdout).trim(), `${dir}/bin/git/git`);
  await git(dir, ["init", "--quiet", "-b", "main", "empty"]);
  await git(dir, ["init", "--quiet", "-b", "main", "clean"]);
  const clean = `${dir}/clean`;
  await write(`${clean}/src/a.ts`, "export const one = 1;\n".repeat(30));
  await commit(clean, "Begin");
  await write(`${clean}/src/b.ts`, "export const two = 2;\n");
  await commit(clean, "Add two");
  const copy = async (name: string, ...options: readonly string[]) => {
    await git(dir, ["clone", "--quiet", ...options, `file://${clean}`, name]);
    const file = options.includes("--bare") ? `${dir}/${name}/config` : `${dir}/${name}/.git/config`;
    await Deno.writeTextFile(file, settings, { append: true });
    return `${dir}/${name}`;
  };
  await copy("bare.git", "--bare");
  const shallow = await copy("shallow", "--depth=1");
  const other = (await git(shallow, ["commit-tree", "HEAD^{tree}", "-m", "Other"])).trim();
  await git(shallow, ["update-ref", "refs/remotes/origin/other", other]);
  const detached = await copy("detached");
  await git(detached, ["checkout", "--quiet", "--detach"]);
  await write(`${detached}/src/c.ts`, "export const three = 3;\n");
  await git(detached, ["add", "-A"]);
  const binary = await copy("binary");
  await write(`${binary}/logo.png`, new Uint8Array(3000).map((_, at) => at % 251));
  await git(binary, ["add", "-A"]);
  await git(await copy("renamed"), ["mv", "src/a.ts", "src/moved.ts"]);
  const submodule = await copy("submodule");
  const pointer = (await git(clean, ["rev-parse", "HEAD"])).trim();
  await Deno.mkdir(`${submodule}/module`);
  await git(submodule, ["update-index", "--add", "--cacheinfo", `160000,${pointer},module`]);
  const large = await copy("large");
  for (const name of "abcdefghij") {
    await write(
      `${large}/src/${name}.ts`,
      Array.from({ length: 10_000 }, (_, at) => `call(${at});\n`).join(""),
    );
  }
  await git(large, ["add", "-A"]);
  // A remote on GitHub whose pushes stay on this machine.
  const github = await copy("github");
  await git(github, ["config", `url.file://${dir}/.pushInsteadOf`, "https://github.com/owner/"]);
  await git(github, ["remote", "set-url", "origin", "https://github.com/owner/clean"]);
  await git(github, ["switch", "--quiet", "-c", "topic"]);
  await write(`${github}/src/d.ts`, "export const four = 4;\n");
  await commit(github, "Add four");
}
