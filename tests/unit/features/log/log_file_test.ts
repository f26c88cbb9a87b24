/** The file of the program's log: several writers, kills, and disks that refuse. */
import { textOf } from "../../../../src/core/mod.ts";
import { LogFile } from "../../../../src/features/log/program_log.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const ROOT = new URL("../../../../", import.meta.url);
const MODULE = new URL("src/features/log/program_log.ts", ROOT).href;
const CONFIG = new URL("deno.json", ROOT).pathname;

/** Writes a module that uses the file; returns the arguments that execute it. */
function script(directory: string, body: string): string[] {
  const path = `${directory}/writer.ts`;
  Deno.writeTextFileSync(path, `import { LogFile } from ${JSON.stringify(MODULE)};\n${body}`);
  return ["run", "-A", "--no-check", `--config=${CONFIG}`, path];
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), { args: [...args], stdout: "piped", stderr: "inherit" }).spawn();
}

function age(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 0);
}

/** Every line of the files of a log, oldest first; each has to be JSON. */
function records(path: string): Record<string, unknown>[] {
  const directory = path.slice(0, path.lastIndexOf("/"));
  const files = [...Deno.readDirSync(directory)].map(({ name }) => `${directory}/${name}`)
    .filter((name) => name.startsWith(path))
    .sort((a, b) => age(b) - age(a));
  return files.flatMap((name) => {
    const text = Deno.readTextFileSync(name);
    assert(text === "" || text.endsWith("\n"), `${name} has a torn line`);
    return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  });
}

Deno.test("no line is lost or torn where four processes fill and rename the file at once", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/log/a.jsonl`;
  const args = script(
    temp.path,
    `
    const file = new LogFile(${JSON.stringify(path)}, { maxBytes: 12_000, kept: 100, maxWaitMs: 60_000 });
    for (let at = 0; at < 300; at++) {
      file.write(JSON.stringify({ writer: Number(Deno.args[0]), at, text: "x".repeat(at % 90) }));
      if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve));
    }
    await file.close();
    if (file.problem !== undefined) throw new Error(JSON.stringify(file.problem));`,
  );
  const children = [1, 2, 3, 4].map((writer) => spawn([...args, String(writer)]));
  for (const child of children) assertEquals((await child.output()).code, 0);
  const written = records(path);
  assertEquals(written.length, 1200);
  for (const writer of [1, 2, 3, 4]) {
    const own = written.filter((record) => record.writer === writer).map(({ at }) => at);
    assertEquals(own, Array.from({ length: 300 }, (_, at) => at), `the order of writer ${writer}`);
  }
  // What waited for another process is written at once, also where it is more than a file shall have.
  assert([...Deno.readDirSync(`${temp.path}/log`)].length > 3);
});

Deno.test("only a few full files are kept", async () => {
  await using temp = await makeTempDir();
  const file = new LogFile(`${temp.path}/a.jsonl`, { maxBytes: 100, kept: 2 });
  for (let at = 0; at < 50; at++) file.write(JSON.stringify({ at }));
  await file.close();
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name).sort(), [
    "a.jsonl",
    "a.jsonl.1",
    "a.jsonl.2",
  ]);
  assertEquals(records(file.path).at(-1), { at: 49 });
  for (const { name } of Deno.readDirSync(temp.path)) {
    assert(Deno.statSync(`${temp.path}/${name}`).size <= 100, name);
  }
  if (Deno.build.os !== "windows") assertEquals((Deno.statSync(file.path).mode ?? 0) & 0o777, 0o600);
});

Deno.test("a writer that is killed in the middle of its lines leaves readable lines", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/a.jsonl`;
  const child = spawn(script(
    temp.path,
    `
    const file = new LogFile(${JSON.stringify(path)}, { maxBytes: 1_000_000_000 });
    const text = "x".repeat(30_000);
    file.write(JSON.stringify({ at: -1 }));
    console.log("ready");
    for (let at = 0; ; at++) file.write(JSON.stringify({ at, text }));`,
  ));
  for await (const _ of child.stdout) break;
  child.kill("SIGKILL");
  await child.status;
  const next = new LogFile(path);
  next.write('{"at":"next"}');
  await next.close();
  assertEquals(next.problem, undefined);
  const written = records(path);
  assertEquals([written[0]?.at, written.at(-1)?.at], [-1, "next"]);
});

Deno.test("half a line of a killed process is removed before the next one", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/a.jsonl`;
  for (const [left, kept] of [['{"a":1}\n{"b":', ['{"a":1}']], ['{"b":', []]] as const) {
    Deno.writeTextFileSync(path, left);
    const file = new LogFile(path);
    file.write('{"c":1}');
    await file.close();
    assertEquals(Deno.readTextFileSync(path), [...kept, '{"c":1}', ""].join("\n"));
  }
});

Deno.test({
  name: "a full disk leaves whole lines, and the log continues when there is space",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using temp = await makeTempDir();
    const path = `${temp.path}/a.jsonl`;
    // A limit of the file size makes the kernel refuse as a full disk does, after a part of the line.
    const args = script(
      temp.path,
      `
      const file = new LogFile(${JSON.stringify(path)});
      for (let at = 0; at < 20; at++) file.write(JSON.stringify({ at, text: "x".repeat(700) }));
      await file.close();
      console.log(JSON.stringify([file.dropped, file.problem]));`,
    );
    const { stdout } = await new Deno.Command("bash", {
      args: ["-c", `trap '' XFSZ; ulimit -f 8; exec "$0" "$@"`, Deno.execPath(), ...args],
      stderr: "inherit",
    }).output();
    const [dropped, problem] = JSON.parse(new TextDecoder().decode(stdout));
    assertStringIncludes(problem, "File too large");
    const before = records(path).length;
    assertEquals(before + dropped, 20);
    const file = new LogFile(path);
    file.write('{"after":1}');
    assertEquals(records(path).length, before + 1);
  },
});

Deno.test("what is not a log stays as it is", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/notes.txt`;
  Deno.writeTextFileSync(path, "notes of mine");
  for (const [target, reason] of [[path, "something else"], [temp.path, "not a file"]] as const) {
    const file = new LogFile(target, { maxBytes: 5 });
    file.write("{}");
    await file.close();
    assertStringIncludes(textOf(file.problem ?? ""), reason);
    assertEquals(file.dropped, 1);
  }
  assertEquals(Deno.readTextFileSync(path), "notes of mine");
  assertEquals([...Deno.readDirSync(temp.path)].length, 1);
});

Deno.test("a process that holds the file delays lines and loses none", async () => {
  await using temp = await makeTempDir();
  const path = `${temp.path}/a.jsonl`;
  const file = new LogFile(path, { maxWaitMs: 60_000 });
  file.write('{"at":0}');
  const other = await Deno.open(path, { read: true, write: true });
  other.lockSync(true);
  for (let at = 1; at < 5; at++) file.write(JSON.stringify({ at }));
  assertEquals(records(path).length, 1);
  other.unlockSync();
  await file.close();
  assertEquals(records(path).map(({ at }) => at), [0, 1, 2, 3, 4]);
  // One that never gives it back, such as a stopped one, is passed over.
  other.lockSync(true);
  const impatient = new LogFile(path, { maxWaitMs: 0 });
  impatient.write('{"at":5}');
  await impatient.close();
  assertEquals(records(path).length, 6);
  other.close();
});
