import { loadMerge, manifestOf, ResultsDir, RunnerSign, taskNames } from "../../../src/batch/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { someManifest, someResult, STARTED } from "../../support/result_writer.ts";
import { Random, SEED, soakSize } from "../../support/seed.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const RUN = { started: STARTED };
const WRITER = new URL("../../support/result_writer.ts", import.meta.url).pathname;

function names(path: string): string[] {
  return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
}

function errorOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert(error instanceof ReasonixError, String(error));
    return `${error.exit}: ${error.message}; ${error.remedy}`;
  }
  return "no error";
}

function writer(words: readonly string[], wrap: readonly string[] = []): Deno.ChildProcess {
  const [program = "", ...args] = [...wrap, Deno.execPath(), "run", "-A", "--no-check", WRITER, ...words];
  return new Deno.Command(program, { args, stdout: "piped", stderr: "piped" }).spawn();
}

Deno.test("a result is put in place once: the second one is dropped, and its files are gone", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/new/out`;
  const dir = ResultsDir.open(path, someManifest(2));
  const patch = `${temp.path}/p`;
  Deno.writeTextFileSync(patch, "a patch\n");
  assertEquals(dir.put(1, RUN, someResult("t1", { patch }), { patch, session: undefined }), true);
  const other = ResultsDir.open(path, someManifest(2));
  assertEquals(other.put(1, RUN, someResult("t1", { answer: "later" }), {}), false);
  const { stored, isFinal } = other.entry(1);
  assertEquals([isFinal, stored?.result.answer, stored?.result.patch], [
    true,
    "did t1",
    "tasks/t1/changes.patch",
  ]);
  assertEquals(Deno.readTextFileSync(`${path}/tasks/t1/changes.patch`), "a patch\n");
  assertEquals([names(path), names(`${path}/tasks/t1`)], [
    [".gitignore", "batch.json", "failed", "running", "tasks"],
    ["changes.patch", "result.json"],
  ]);
});

Deno.test("a rename that was done although its reply says otherwise counts as done", async () => {
  await using temp = await makeTempDir();
  const dir = ResultsDir.open(temp.path, someManifest(1));
  // The server did the rename, and refuses the one that is sent again: the source is gone, the target full.
  const text = JSON.stringify({
    v: 1,
    index: 0,
    digest: dir.manifest.digest,
    host: Deno.hostname(),
    ...RUN,
    result: someResult("t0"),
  });
  Deno.mkdirSync(`${temp.path}/tasks/t0`);
  Deno.writeTextFileSync(`${temp.path}/tasks/t0/result.json`, `${text}\n`);
  assertEquals(dir.put(0, RUN, someResult("t0"), {}), true);
});

Deno.test("an attempt is replaced by the next one, and does not count next to a result", async () => {
  await using temp = await makeTempDir();
  const dir = ResultsDir.open(temp.path, someManifest(1));
  const failed = someResult("t0", { ok: false, reason: "provider", patch: "/a.patch" });
  await dir.fail(0, RUN, failed);
  await dir.fail(0, RUN, { ...failed, error: "503" });
  const { isFinal, stored } = dir.entry(0);
  assertEquals([isFinal, stored?.result.error, stored?.result.patch], [false, "503", undefined]);
  dir.put(0, RUN, someResult("t0"), {});
  assertEquals(dir.entry(0).stored?.result.reason, "done");
});

Deno.test("what is in place of a result is named with its path and left there", async () => {
  await using temp = await makeTempDir();
  const dir = ResultsDir.open(temp.path, someManifest(4));
  const put = (name: string, text: string) => {
    Deno.mkdirSync(`${temp.path}/tasks/${name}`);
    Deno.writeTextFileSync(`${temp.path}/tasks/${name}/result.json`, text);
  };
  put("t0", '{"v": 1, "started"');
  put("t1", JSON.stringify({ v: 1, digest: "other", ...RUN, result: someResult("t1") }));
  Deno.mkdirSync(`${temp.path}/tasks/t2`);
  Deno.writeTextFileSync(`${temp.path}/tasks/t2/changes.patch`, "p");
  Deno.mkdirSync(`${temp.path}/tasks/t3`);
  const tasks = `${temp.path}/tasks`;
  assertEquals([...dir.entries()].map(({ damage }) => damage), [
    `${tasks}/t0/result.json is half a result`,
    `${tasks}/t1/result.json is the result of another task`,
    `${tasks}/t2 has no result.json`,
    undefined,
  ]);
  // An empty directory takes a result; a full one does not lose what it has.
  assertEquals(dir.put(3, RUN, someResult("t3"), {}), true);
  assertEquals(dir.put(0, RUN, someResult("t0"), {}), false);
  assertMatch(
    errorOf(() => dir.put(2, RUN, someResult("t2"), {})),
    /Cannot store the result of t2 in .*not empty/,
  );
});

Deno.test("a directory that cannot be used is refused before a task is begun", async () => {
  await using temp = await makeTempDir();
  const manifest = someManifest(2);
  Deno.writeTextFileSync(`${temp.path}/file`, "");
  ResultsDir.open(`${temp.path}/used`, someManifest(3));
  Deno.mkdirSync(`${temp.path}/half/tasks`, { recursive: true });
  Deno.writeTextFileSync(`${temp.path}/half/batch.json`, '{"v":1,');
  Deno.mkdirSync(`${temp.path}/empty`);
  const rows = [
    [
      () => ResultsDir.open(`${temp.path}/file`, manifest),
      /^usage: Cannot use .*\/file for results: not a directory/,
    ],
    [
      () => ResultsDir.open(`${temp.path}/used`, manifest),
      /results of another batch \(tasks.jsonl, 3 tasks\)/,
    ],
    [
      () => ResultsDir.open(`${temp.path}/half`, manifest),
      /half\/batch.json is damaged .*; remove that file/,
    ],
    [
      () => ResultsDir.open("/proc/no", manifest),
      /Cannot use \/proc\/no for results: .*give --results-dir another/,
    ],
    [
      () => ResultsDir.read(`${temp.path}/none`),
      /none for results: it does not exist; give the directory of run/,
    ],
    [() => ResultsDir.read(`${temp.path}/file`), /it is not a directory/],
    [() => ResultsDir.read(`${temp.path}/empty`), /it has no batch.json/],
  ] as const;
  for (const [work, pattern] of rows) assertMatch(errorOf(work), pattern);
});

Deno.test("the text of the tasks, the model and work trees make a batch; line ends do not", () => {
  const digest = (text: string, more = {}) => manifestOf({ tasks: [], text, file: "f", ...more }).digest;
  const one = digest('{"prompt":"a"}\n');
  assertEquals(digest('\r\n{"prompt":"a"}\r\n\n'), one);
  for (const other of [digest('{"prompt":"b"}'), digest('{"prompt":"a"}', { model: "m" })]) {
    assert(other !== one);
  }
  assert(digest('{"prompt":"a"}', { worktree: true }) !== one);
});

Deno.test("names are those that every file system can have, and differ", () => {
  const ids = ["a", "A", "x/y", "x_y", "..", "项目", "é".repeat(100), "long".repeat(50)];
  const made = taskNames(ids.map((id) => ({ id })));
  assertEquals([made[3], made[5]], ["x_y", "项目"]);
  assertEquals(new Set(made.map((name) => name.toLowerCase())).size, ids.length);
  for (const name of made) assertMatch(name, /^[^./][^/]{0,90}$/u);
});

Deno.test("writers that are killed at random points leave nothing or a whole result, and others finish", async () => {
  const random = new Random(SEED);
  const count = 40;
  for (let round = 0; round < soakSize(40, 2); round++) {
    await using temp = await makeTempDir();
    const path = `${temp.path}/out`;
    for (let kill = 0; kill < 3; kill++) {
      const children = ["x", "y"].map((name) => writer([path, `${count}`, `${name}${kill}`]));
      await Promise.all(children.map(async (child) => {
        await child.stderr.cancel();
        const reader = child.stdout.getReader();
        await reader.read();
        for (let writes = random.below(8); writes > 0; writes--) await reader.read();
        child.kill("SIGKILL");
        await child.status;
        await reader.cancel();
      }));
    }
    const dir = ResultsDir.open(path, someManifest(count));
    const wholes = () =>
      [...dir.entries()].filter(({ id, isFinal, stored, damage }) => {
        assertEquals(damage, undefined);
        if (!isFinal) assertEquals(names(`${path}/tasks`).includes(id), false);
        if (!stored) return false;
        const content = `${stored.result.answer}-${id}\n`.repeat(3000);
        for (const file of ["changes.patch", "session.jsonl"]) {
          assertEquals(Deno.readTextFileSync(`${path}/tasks/${id}/${file}`), content);
        }
        return true;
      }).length;
    const before = wholes();
    const last = await writer([path, `${count}`, "last"]).output();
    assertEquals(new TextDecoder().decode(last.stderr), "");
    assertEquals([last.code, wholes()], [0, count], `${before} before`);
  }
});

Deno.test("a merge next to writers has whole results, and never fewer than before", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/out`;
  const count = 60;
  const dir = ResultsDir.open(path, someManifest(count));
  const { mergeResults, RESULT_FORMATS } = await loadMerge();
  const children = ["x", "y"].map((name) => writer([path, `${count}`, name]));
  let isOver = false;
  const ends = Promise.all(children.map((child) => child.output())).then(() => isOver = true);
  let before = 0;
  for (let isLast = false; !isLast; await new Promise((resolve) => setTimeout(resolve))) {
    isLast = isOver;
    let text = "";
    const { done, damage } = mergeResults(dir, RESULT_FORMATS.jsonl, (piece) => void (text += piece));
    assertEquals(damage, []);
    assert(done >= before, `${done} after ${before}`);
    before = done;
    const ids = text.split("\n").slice(0, -1).map((line) => Number(JSON.parse(line).id.slice(1)));
    assertEquals([ids.length, ids], [done, ids.toSorted((a, b) => a - b)]);
  }
  await ends;
  assertEquals(before, count);
});

Deno.test("a disk without space gives one line, and the result is not there in part", async () => {
  await using temp = await makeTempDir();
  // 32 KB a file: the manifest fits, the session does not. Without the trap the system would end the process.
  const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 64; exec "$@"', "sh"];
  const path = `${temp.path}/out`;
  Deno.writeTextFileSync(`${temp.path}/session`, "x".repeat(100_000));
  const { code, stderr } = await writer([path, "1", "x", `${temp.path}/session`], limited).output();
  const text = new TextDecoder().decode(stderr);
  assertMatch(text, /Cannot store the result of t0 in .*: file too large/i);
  assertEquals(code, 1);
  assertEquals([names(path), names(`${path}/tasks`)], [[
    ".gitignore",
    "batch.json",
    "failed",
    "running",
    "tasks",
  ], []]);
});

Deno.test("a runner says what it works on until it ends; of two of one task the last sign counts", async () => {
  await using temp = await makeTempDir();
  const dir = ResultsDir.open(temp.path, someManifest(4));
  const { totalsOf } = await loadMerge();
  const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
  const signs = () => names(`${temp.path}/running`);
  {
    using killed = new RunnerSign(dir);
    killed.begin(0);
    killed.begin(1);
    const [old = ""] = signs();
    const copy = Deno.readTextFileSync(`${temp.path}/running/${old}`);
    Deno.writeTextFileSync(`${temp.path}/running/old`, copy.replace(/"host":"[^"]*"/, '"host":"lost"'));
    Deno.utimeSync(`${temp.path}/running/old`, new Date(0), new Date(0));
    Deno.writeTextFileSync(`${temp.path}/running/half`, copy.slice(0, -20));
    Deno.writeTextFileSync(`${temp.path}/running/other`, copy.replace(/"digest":"\w+"/, '"digest":"x"'));
    const undated = copy.replaceAll(/"started":"[^"]*"/g, '"started":"then"').replace(
      '"index":0',
      '"index":2',
    );
    Deno.writeTextFileSync(`${temp.path}/running/undated`, undated);
    killed.end(0);
    const { running, silent } = totalsOf(dir);
    assertEquals([ids(running), ids(silent), silent[0]?.host], [["t1"], ["t0"], "lost"]);
    dir.put(0, RUN, someResult("t0"), {});
    assertEquals(ids(totalsOf(dir).silent), []);
  }
  assertEquals(signs(), ["half", "old", "other", "undated"]);
  // The next runner removes those of a day ago.
  ResultsDir.open(temp.path, someManifest(4));
  assertEquals(signs(), ["half", "other", "undated"]);
});

Deno.test("git ignores a directory of results, unless other files are in it", async () => {
  await using temp = await makeTempDir();
  for (const name of ["new", "logs", "other"]) Deno.mkdirSync(`${temp.path}/${name}`);
  Deno.mkdirSync(`${temp.path}/logs/log`);
  Deno.writeTextFileSync(`${temp.path}/other/main.ts`, "");
  const ignored = ["new", "logs", "other"].map((name) => {
    ResultsDir.open(`${temp.path}/${name}`, someManifest(2));
    return names(`${temp.path}/${name}`).includes(".gitignore");
  });
  assertEquals(ignored, [true, true, false]);
});
