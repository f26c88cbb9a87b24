/** Tasks with repositories, setup, variables and limits, through the program. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { git } from "../unit/worktree/support.ts";

interface Line {
  readonly id: string;
  readonly ok: boolean;
  readonly reason: string;
  readonly error?: string;
  readonly answer: string;
  readonly session: string | null;
  readonly checks: readonly { readonly output: string }[];
  readonly patch?: string | null;
}

const LOOSE = { check: { prefix: false } } as const;

function linesOf(stdout: string): Line[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Runs the command line after "run: " in the prompt, then answers with its output. */
function obey({ json }: RecordedRequest): Turn {
  const messages: { role: string; content: unknown }[] = json.messages;
  const prompt = messages.map(({ content }) => String(content)).find((text) => text.startsWith("run: "));
  const command = prompt?.slice("run: ".length) ?? "true";
  const results = messages.filter(({ role }) => role === "tool");
  const last = results.at(-1);
  if (last) return { text: `done: ${last.content}` };
  return { calls: [{ id: `call-${results.length}`, name: "bash", args: { command } }] };
}

/** A repository next to the workspace, with two commits; returns the first. */
async function makeSource(world: World): Promise<{ readonly dir: string; readonly first: string }> {
  const dir = `${world.dir}/../source`;
  await Deno.mkdir(dir);
  await git(dir, "init", "-q", "-b", "main");
  await Deno.writeTextFile(`${dir}/a.txt`, "one\n");
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "first");
  const first = (await git(dir, "rev-parse", "HEAD")).trim();
  await Deno.writeTextFile(`${dir}/a.txt`, "two\n");
  await git(dir, "commit", "-qam", "second");
  return { dir: await Deno.realPath(dir), first };
}

function jsonl(...tasks: readonly Readonly<Record<string, unknown>>[]): string {
  return tasks.map((task) => JSON.stringify(task)).join("\n");
}

const RUN = ["run", "--tasks", "tasks.jsonl", "--results", "results.jsonl"];

Deno.test("a task works in a clone of its repository, after its setup, with its variables", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: obey });
  await using world = await makeWorld(mockConfig(server.url));
  const { dir: repo, first } = await makeSource(world);
  const env = { GREETING: "hello 'you'", TARGET: "env.txt" };
  const shared = {
    repo,
    env,
    setup: ["echo set up > setup.txt", 'echo "$GREETING" >> a.txt'],
    image: "debian:12",
  };
  await world.write(
    "tasks.jsonl",
    jsonl(
      {
        id: "old",
        ...shared,
        ref: first,
        prompt: 'run: cat a.txt setup.txt; echo "$GREETING" > "$TARGET"; git log --oneline | wc -l',
        check: 'echo "$GREETING" && test -f env.txt && test -f setup.txt',
      },
      { id: "new", ...shared, prompt: "run: git status --short; echo changed > a.txt" },
    ),
  );
  const { code, stderr } = await world.run(RUN);
  assertEquals(code, 0, stderr);
  assertEquals(stderr.match(/2 tasks name a container image/g)?.length, 1, stderr);
  const results = new Map(linesOf(await world.read("results.jsonl")).map((line) => [line.id, line]));
  assertStringIncludes(results.get("old")?.answer ?? "", "done: one\nhello 'you'\nset up\n1");
  assertEquals(results.get("old")?.checks[0]?.output, "hello 'you'");
  const old = await world.read("old.patch");
  assertEquals(old.match(/^[+-](?![+-]).*$/gm), ["+hello 'you'"]);
  assertStringIncludes(old, "b/env.txt");
  const { answer = "" } = results.get("new") ?? {};
  assertStringIncludes(answer, "done:  M a.txt\n?? setup.txt");
  assertEquals((await world.read("new.patch")).match(/^[+-](?![+-]).*$/gm), [
    "-two",
    "-hello 'you'",
    "+changed",
  ]);
  // One copy for both, and nothing else is left.
  const copies = [...Deno.readDirSync(`${world.home}/repositories`)].map(({ name }) => name);
  assertEquals(copies.length, 1, `${copies}`);
  assertEquals([...Deno.readDirSync(`${world.home}/worktrees`)].filter(({ isDirectory }) => isDirectory), []);
});

Deno.test("a setup or a repository that fails is a result of the task that the next run repeats", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: obey });
  await using world = await makeWorld(mockConfig(server.url));
  const { dir: repo } = await makeSource(world);
  await Deno.mkdir(`${world.dir}/plain`);
  const prompt = "run: true";
  await world.write(
    "tasks.jsonl",
    jsonl(
      { id: "setup", prompt, repo, setup: ["echo why; exit 3", "touch never"] },
      { id: "plain", prompt, dir: "plain", setup: "test -e ready" },
      { id: "ref", prompt, repo, ref: "gone" },
      { id: "dir", prompt, repo, dir: "gone" },
      { id: "away", prompt, repo: "https://user:hunter2hunter2@127.0.0.1:1/x.git" },
      { id: "good", prompt, repo },
    ),
  );
  const { code, stderr } = await world.run([...RUN, "-j", "1"]);
  assertEquals(code, 1, stderr);
  const text = await world.read("results.jsonl");
  assertEquals(linesOf(text).map(({ id, reason, session }) => [id, reason, session !== null]), [
    ["setup", "setup", false],
    ["plain", "setup", false],
    ["ref", "usage", false],
    ["dir", "usage", false],
    ["away", "repository", false],
    ["good", "done", true],
  ]);
  for (
    const part of [
      'Cannot set up setup: \\"echo why; exit 3\\" ended with 3: why; correct',
      `Cannot find gone in ${repo}`,
      "Cannot work in gone: it is no directory of the repository at",
      "Cannot fetch https://127.0.0.1:1/x.git: ",
    ]
  ) assertStringIncludes(text, part);
  assert(!`${text}${stderr}`.includes("hunter2"), "credentials are not shown");
  const asked = server.requests.length;
  await world.write("plain/ready", "");
  const again = await world.run([...RUN, "-j", "1"]);
  assertEquals(linesOf(await world.read("results.jsonl")).map(({ id, reason }) => `${id} ${reason}`), [
    "good done",
    "setup setup",
    "plain done",
    "ref usage",
    "dir usage",
    "away repository",
  ], again.stderr);
  // Only "plain" was begun, with a call and an answer.
  assertEquals(server.requests.length - asked, 2);
});

Deno.test("limits bound the steps, the time and the cost of one task", async () => {
  const never = Promise.withResolvers<void>();
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: (request) => {
      const text = JSON.stringify(request.json.messages);
      if (text.includes("wait")) return { text: "late", before: never.promise };
      return { calls: [{ id: `call-${server.requests.length}`, name: "bash", args: { command: "true" } }] };
    },
  });
  await using world = await makeWorld(
    mockConfig(server.url, "", "price = { input = 1000.0, output = 1000.0 }\n"),
  );
  await world.write(
    "tasks.jsonl",
    jsonl(
      { id: "steps", prompt: "go on", limits: { steps: 2, cpus: 4, memory: "1Gi" } },
      { id: "cost", prompt: "go on", limits: { cost: 0.001 } },
      { id: "seconds", prompt: "wait", limits: { seconds: 0.5 } },
    ),
  );
  const { code, stderr } = await world.run([...RUN, "-j", "1", "--max-steps", "50"]);
  never.resolve();
  assertEquals(code, 1, stderr);
  assertEquals(linesOf(await world.read("results.jsonl")).map(({ id, reason }) => `${id} ${reason}`), [
    "steps limit",
    "cost limit",
    "seconds limit",
  ]);
});

Deno.test("a file with wrong fields, and variables that hold a provider's key, start nothing", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MY_OWN_NAME"\n'));
  const rows: readonly [string, string][] = [
    ['{"prompt":"x","repo":"nowhere"}', 'tasks.jsonl:1:15: there is no directory "nowhere"'],
    ['{"prompt":"x","env":{"LD_PRELOAD":"/x.so"}}', "tasks.jsonl:1:22: LD_PRELOAD is not for commands"],
    ['{"prompt":"x","env":{"MY_OWN_NAME":"x"}}', 'Cannot run 1: its "env" sets MY_OWN_NAME'],
  ];
  for (const [line, expected] of rows) {
    await world.write("tasks.jsonl", line);
    const { code, stderr } = await world.run(RUN, { env: { MY_OWN_NAME: "sk-123456789" } });
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, expected);
  }
  assertEquals(server.requests.length, 0);
});

Deno.test("--tasks-from swe-bench reads instances, and needs one file", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  const instance = {
    instance_id: "a__b-1",
    repo: "a/b",
    base_commit: "0".repeat(40),
    problem_statement: "x",
  };
  await world.write("swe.json", JSON.stringify([{ ...instance, repo: "a" }]));
  const from = ["run", "--tasks-from", "swe-bench"];
  const rows: readonly [readonly string[], string][] = [
    [[...from, "swe.json"], "swe.json:1:26: the repo is not OWNER/NAME"],
    [from, "Cannot read tasks from swe-bench: that takes one file, and no --tasks"],
    [[...from, "swe.json", "more"], "write --tasks-from swe-bench FILE"],
    [[...from, "--tasks", "swe.json"], "that takes one file, and no --tasks"],
    [["run", "--tasks-from", "other", "swe.json"], "swe-bench"],
  ];
  for (const [args, expected] of rows) {
    const { code, stderr } = await world.run(args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, expected);
  }
});

/** Kills the program as soon as a file is there. */
async function killAt(world: World, file: string, env: Record<string, string>): Promise<void> {
  const child = await world.spawn(RUN, { env });
  const ended = finished(child);
  let isThere = false;
  while (!isThere) {
    isThere = await Deno.stat(file).then(() => true, () => false);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  child.kill("SIGKILL");
  await ended;
}

Deno.test("a task that is killed while it is cloned, set up or worked on continues", async () => {
  const release = Promise.withResolvers<void>();
  const marks = await Deno.makeTempDir();
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: async (request) => {
      const turn = obey(request);
      if (!("text" in turn) || await Deno.stat(`${marks}/agent`).then(() => true, () => false)) return turn;
      await Deno.writeTextFile(`${marks}/agent`, "");
      await release.promise;
      return turn;
    },
  });
  await using world = await makeWorld(mockConfig(server.url, `[sandbox]\nallow_write = ["${marks}"]\n`));
  const { dir } = await makeSource(world);
  // The first connection says nothing until the test has ended.
  const ssh = `${marks}/ssh.sh`;
  await Deno.writeTextFile(
    ssh,
    `#!/bin/sh\nif [ ! -e ${marks}/clone ]; then touch ${marks}/clone\n` +
      `while [ -e ${marks}/clone ]; do sleep 0.1; done; fi\nexec git-upload-pack '${dir}'\n`,
    { mode: 0o755 },
  );
  await world.write(
    "tasks.jsonl",
    jsonl({
      id: "t",
      repo: "ssh://host/source",
      setup: [
        `echo begun >> ${marks}/setups; [ -e ${marks}/setup ] || { touch ${marks}/setup; exec sleep 60; }`,
        "echo set up > setup.txt",
      ],
      prompt: "run: cat setup.txt; echo worked >> a.txt",
      check: "test $(grep -c worked a.txt) = 1",
    }),
  );
  const env = { GIT_SSH_COMMAND: ssh, GIT_SSH_VARIANT: "simple" };
  for (const stage of ["clone", "setup", "agent"]) await killAt(world, `${marks}/${stage}`, env);
  release.resolve();
  const { code, stderr } = await world.run(RUN, { env });
  const [result] = linesOf(await world.read("results.jsonl"));
  assertEquals([code, result?.reason], [0, "done"], `${stderr}${JSON.stringify(result)}`);
  assertEquals((await world.read("t.patch")).match(/^[+-](?![+-]).*$/gm), ["+worked"]);
  assertEquals(
    await Deno.readTextFile(`${marks}/setups`),
    "begun\nbegun\n",
    "what was set up is not set up again",
  );
  assertMatch(JSON.stringify(server.requests.at(-1)?.json), /was interrupted/);
  await Deno.remove(marks, { recursive: true });
});

Deno.test("a hostile repository and its tree decide nothing about the program that works in it", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: obey });
  await using world = await makeWorld(mockConfig(server.url));
  const { dir: repo } = await makeSource(world);
  const ran = `${world.dir}/../ran`;
  await Deno.writeTextFile(
    `${repo}/reasonix.toml`,
    `[[hooks]]\nevent = "session.start"\ncommand = "touch ${ran}"\n[sandbox]\nbash = "off"\nallow_write = ["/"]\n`,
  );
  await Deno.writeTextFile(`${repo}/.gitattributes`, "* filter=evil diff=evil\n");
  await git(repo, "add", "-A");
  await git(repo, "commit", "-qm", "hostile");
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change"]) {
    await Deno.writeTextFile(`${repo}/.git/hooks/${hook}`, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  }
  // A filter of the user does not run either.
  const settings =
    `[filter "evil"]\n\tsmudge = "touch ${ran}; cat"\n\tclean = "touch ${ran}; cat"\n\trequired\n`;
  await Deno.writeTextFile(`${world.dir}/../.gitconfig`, settings);
  await world.write("tasks.jsonl", jsonl({ id: "t", repo, prompt: `run: touch ${ran}; echo x > a.txt` }));
  const { code, stderr } = await world.run(RUN);
  assertEquals(code, 0, stderr);
  assertEquals((await world.read("t.patch")).match(/^[+-](?![+-]).*$/gm), ["-two", "+x"]);
  const exists = () => Deno.stat(ran).then(() => true, () => false);
  assertEquals(await exists(), false, "nothing of it ran, and the jail held");
  // The control: an ordinary clone runs the user's filter.
  const control = `${world.dir}/../control`;
  await new Deno.Command("git", { args: ["clone", "-q", repo, control], env: { HOME: `${world.dir}/..` } })
    .output();
  assertEquals(await exists(), true);
});

/** Makes a bare repository in which paths are texts, or commits of other repositories; returns the commit. */
async function makeBare(path: string, files: Readonly<Record<string, string>>): Promise<string> {
  await Deno.mkdir(path, { recursive: true });
  await git(path, "init", "-q", "-b", "main");
  for (const [name, text] of Object.entries(files)) {
    if (/^[0-9a-f]{40}$/.test(text)) {
      await git(path, "update-index", "--add", "--cacheinfo", `160000,${text},${name}`);
    } else {
      await Deno.writeTextFile(`${path}/${name}`, text);
      await git(path, "add", name);
    }
  }
  await git(path, "commit", "-qm", "first");
  return (await git(path, "rev-parse", "HEAD")).trim();
}

function modules(...rows: readonly [path: string, url: string][]): string {
  return rows.map(([path, url]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`).join("");
}

Deno.test("a task has the submodules of its repository, which may be on a mirror by git's own settings", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: obey });
  await using world = await makeWorld(mockConfig(server.url));
  const mirror = `${world.dir}/../mirror/team`;
  const ran = `${world.dir}/../ran`;
  const evil = `ext::sh -c touch% ${ran}`;
  const deep = await makeBare(`${mirror}/deep`, {
    "b.txt": "deep\n",
    ".gitattributes": "*.bin filter=lfs\n",
  });
  const lib = await makeBare(`${mirror}/lib`, {
    "a.txt": "lib\n",
    ".gitattributes": "* filter=evil\n",
    deep,
    ".gitmodules": modules(["deep", "../deep"]),
  });
  const ref = await makeBare(`${mirror}/app`, {
    "a.txt": "app\n",
    lib,
    evil: lib,
    local: lib,
    dash: lib,
    ".gitmodules": modules(
      ["lib", "https://git.example/team/lib"],
      ["evil", evil],
      ["local", `${mirror}/lib`],
      ["dash", "ssh://-oProxyCommand=touch/x"],
      ["gone", "https://git.example/team/gone"],
    ),
  });
  await Deno.writeTextFile(
    `${world.dir}/../.gitconfig`,
    `[filter "evil"]\n\tsmudge = "touch ${ran}; cat"\n\tclean = "touch ${ran}; cat"\n` +
      `[url "file://${await Deno.realPath(`${mirror}/..`)}/"]\n` +
      "\tinsteadOf = https://git.example/\n\tinsteadOf = https://github.com/\n",
  );
  const shared = { repo: "https://git.example/team/app", prompt: "run: true" };
  await world.write(
    "tasks.jsonl",
    jsonl(
      {
        id: "t",
        ...shared,
        prompt: "run: cat a.txt lib/a.txt lib/deep/b.txt; git -C lib/deep log --format=%s; " +
          "ls -A evil local dash; echo changed > lib/deep/b.txt",
      },
      { id: "again", ...shared, check: "grep -qx lib lib/a.txt" },
    ),
  );
  const { code, stderr } = await world.run([...RUN, "-j", "1"]);
  assertEquals(code, 0, stderr);
  const [first] = linesOf(await world.read("results.jsonl"));
  assertEquals(first?.answer, "done: app\nlib\ndeep\nfirst\ndash:\n\nevil:\n\nlocal:");
  const patch = await world.read("t.patch");
  assertEquals(patch.match(/^[+-].*$/gm), [
    "--- a/lib/deep/b.txt",
    "+++ b/lib/deep/b.txt",
    "-deep",
    "+changed",
  ]);
  assertEquals(
    stderr.match(/^· https:.*$/gm)?.map((line) => line.replace(world.dir, "DIR")),
    [
      `· https://git.example/team/app: the submodule evil is left out; ext::sh -c touch% DIR/../ran is no https, http or ssh`,
      "· https://git.example/team/app: the submodule local is left out; DIR/../mirror/team/lib is no https, http or ssh",
      "· https://git.example/team/app: the submodule dash is left out; ssh://-oProxyCommand=touch/x is no https, http or ssh",
      "· https://git.example/team/deep: files of Git LFS are not fetched; tasks find their pointers",
    ],
  );
  const instance = { instance_id: "team__app-1", repo: "team/app", base_commit: ref, problem_statement: "x" };
  await world.write("swe.json", JSON.stringify([instance]));
  const swe = await world.run(["run", "--tasks-from", "swe-bench", "swe.json", "--results", "swe.jsonl"]);
  assertEquals([swe.code, linesOf(await world.read("swe.jsonl"))[0]?.reason], [0, "done"], swe.stderr);
  assertEquals(await Deno.stat(ran).then(() => true, () => false), false, "nothing of them ran");

  await makeBare(`${mirror}/broken`, {
    lib,
    ".gitmodules": modules(["lib", "https://git.example/team/gone"]),
  });
  await world.write("tasks.jsonl", jsonl({ ...shared, id: "b", repo: "https://git.example/team/broken" }));
  const broken = await world.run(RUN);
  assertEquals(broken.code, 1, broken.stderr);
  assertMatch(
    broken.stderr,
    /b: the repository cannot be fetched \(Cannot fetch the submodule lib of https:\/\/git.example\/team\/broken: /,
  );
});
