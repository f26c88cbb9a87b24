import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../../src/tool/builtin/apply_patch/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";
import { WRITE_FILE } from "../../../../src/tool/builtin/write_file/tool.ts";

Deno.test("write_file creates a file with its directories and reports the lines", async () => {
  await using dir = await makeTempDir();
  const result = await WRITE_FILE.execute(
    { path: "a/b/c.txt", content: "x\ny\n" },
    makeToolContext(dir.path),
  );
  assertEquals(result.content, "created a/b/c.txt (+2 −0)");
  assertEquals(await Deno.readTextFile(`${dir.path}/a/b/c.txt`), "x\ny\n");
  assertEquals(result.changes?.[0], {
    path: `${dir.path}/a/b/c.txt`,
    change: "created",
    added: 2,
    removed: 0,
    diff: "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n",
  });
});

Deno.test("write_file refuses to replace a file that was not read or has changed", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  await Deno.writeTextFile(path, "old\n");
  const context = makeToolContext(dir.path);
  const unseen = await WRITE_FILE.execute({ path: "a.txt", content: "new\n" }, context);
  assertEquals(unseen.content, "error: a.txt has not been read in this session; read_file it first");
  await READ_FILE.execute({ path: "a.txt" }, context);
  await Deno.writeTextFile(path, "other\n");
  const changed = await WRITE_FILE.execute({ path: "a.txt", content: "new\n" }, context);
  assertEquals(changed.content, "error: a.txt has changed on disk since it was read; read_file it again");
  assertEquals(await Deno.readTextFile(path), "other\n");
});

Deno.test("write_file detects changed content of the same length", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  await Deno.writeTextFile(path, "port = 8080\n");
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: "a.txt" }, context);
  await Deno.writeTextFile(path, "port = 9090\n");
  const { content } = await WRITE_FILE.execute({ path: "a.txt", content: "new\n" }, context);
  assertEquals(content, "error: a.txt has changed on disk since it was read; read_file it again");
});

Deno.test("write_file does not overwrite a change that another program makes at the last moment", async () => {
  await using dir = await makeTempDir();
  /** Writes a file while another program writes it at one of the signal checks; returns their number. */
  const attempt = async (name: string, at?: number) => {
    await Deno.writeTextFile(`${dir.path}/${name}`, "old\n");
    const { signal } = new AbortController();
    const context = makeToolContext(dir.path, { signal });
    await READ_FILE.execute({ path: name }, context);
    let looks = 0;
    signal.throwIfAborted = () => {
      if (++looks === at) Deno.writeTextFileSync(`${dir.path}/${name}`, "theirs, just now\n");
    };
    const { content } = await WRITE_FILE.execute({ path: name, content: "new\n" }, context);
    return { content, looks, left: await Deno.readTextFile(`${dir.path}/${name}`) };
  };
  const { looks, left } = await attempt("a.txt");
  assertEquals(left, "new\n");
  // The last look is right before the file is written.
  const last = await attempt("b.txt", looks);
  assertStringIncludes(last.content, "b.txt was changed by another program just now");
  assertEquals(last.left, "theirs, just now\n");
});

Deno.test("write_file accepts a file that was only touched since it was read", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  await Deno.writeTextFile(path, "old\n");
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: "a.txt" }, context);
  await Deno.utime(path, 1, 1);
  const result = await WRITE_FILE.execute({ path: "a.txt", content: "new\n" }, context);
  assertEquals(result.content, "updated a.txt (+1 −1)");
  const again = await WRITE_FILE.execute({ path: "a.txt", content: "newer\n" }, context);
  assertEquals(again.content, "updated a.txt (+1 −1)");
});

Deno.test("write_file reports unchanged when the content is the same", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await WRITE_FILE.execute({ path: "a.txt", content: "same\n" }, context);
  const before = await Deno.stat(`${dir.path}/a.txt`);
  const result = await WRITE_FILE.execute({ path: "a.txt", content: "same\n" }, context);
  assertEquals(result.content, "unchanged a.txt: the file already has this content");
  assertEquals(result.changes?.[0]?.change, "unchanged");
  assertEquals((await Deno.stat(`${dir.path}/a.txt`)).ino, before.ino);
});

Deno.test("write_file keeps encoding, byte order mark and line ends of the file it replaces", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  const context = makeToolContext(dir.path);
  await Deno.writeFile(path, new Uint8Array([0xd6, 0xd0, 0xce, 0xc4, 13, 10]));
  await READ_FILE.execute({ path: "a.txt" }, context);
  await WRITE_FILE.execute({ path: "a.txt", content: "文中\n中\n" }, context);
  assertEquals([...await Deno.readFile(path)], [0xce, 0xc4, 0xd6, 0xd0, 13, 10, 0xd6, 0xd0, 13, 10]);
  const mixed = `${dir.path}/mixed.txt`;
  await Deno.writeTextFile(mixed, "\ufeffa\r\nb\nc\r\nd\n");
  await READ_FILE.execute({ path: "mixed.txt" }, context);
  await WRITE_FILE.execute({ path: "mixed.txt", content: "a\nb\nX\nc\nd\n" }, context);
  assertEquals(
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(await Deno.readFile(mixed)),
    "\ufeffa\r\nb\nX\nc\r\nd\n",
  );
});

Deno.test("write_file switches to UTF-8 and reports it when the old encoding lacks a character", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  const context = makeToolContext(dir.path);
  await Deno.writeFile(path, new Uint8Array([0x63, 0xe9, 0x0a]));
  await READ_FILE.execute({ path: "a.txt" }, context);
  const result = await WRITE_FILE.execute({ path: "a.txt", content: "中\n" }, context);
  assertEquals(result.content, "updated a.txt (+1 −1); now UTF-8, was Latin-1 (windows-1252)");
  assertEquals(await Deno.readTextFile(path), "中\n");
});

Deno.test("write_file keeps mode and symlink of the file it replaces", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await Deno.writeTextFile(`${dir.path}/run.sh`, "old\n");
  await Deno.chmod(`${dir.path}/run.sh`, 0o751);
  await Deno.symlink("run.sh", `${dir.path}/link.sh`);
  await READ_FILE.execute({ path: "link.sh" }, context);
  const result = await WRITE_FILE.execute({ path: "link.sh", content: "new\n" }, context);
  assertEquals(result.content, "updated run.sh (+1 −1)");
  assertEquals((await Deno.lstat(`${dir.path}/link.sh`)).isSymlink, true);
  assertEquals(((await Deno.stat(`${dir.path}/run.sh`)).mode ?? 0) & 0o777, 0o751);
  assertEquals([...Deno.readDirSync(dir.path)].map((entry) => entry.name).sort(), ["link.sh", "run.sh"]);
});

Deno.test("write_file writes nothing when writes are denied or a dry run", async () => {
  await using dir = await makeTempDir();
  const args = { path: "a.txt", content: "x\n" };
  const denied = await WRITE_FILE.execute(args, makeToolContext(dir.path, { settings: { writes: "deny" } }));
  assertEquals(denied.isError, true);
  assertStringIncludes(denied.content, "unified diff");
  const dry = await WRITE_FILE.execute(args, makeToolContext(dir.path, { settings: { writes: "dry-run" } }));
  assertEquals(
    dry.content,
    "dry run, nothing was written; would change a.txt (+1 −0)\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n",
  );
  assertEquals(dry.changes?.map(({ written }) => written), [false]);
  assertEquals([...Deno.readDirSync(dir.path)].length, 0);
});

Deno.test("write_file adds a final newline when the settings ask for it", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path, { settings: { ensureTrailingNewline: true } });
  await WRITE_FILE.execute({ path: "a.txt", content: "x" }, context);
  await WRITE_FILE.execute({ path: "b.txt", content: "" }, context);
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "x\n");
  assertEquals(await Deno.readTextFile(`${dir.path}/b.txt`), "");
});

Deno.test("write_file reports a system error in one line", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/file`, "");
  const inside = await WRITE_FILE.execute({ path: "file/x", content: "" }, makeToolContext(dir.path));
  assertEquals(inside.isError, true);
  assertStringIncludes(inside.content, "a part of the path is not a directory");
  const outside = await WRITE_FILE.execute({ path: "/etc/x", content: "" }, makeToolContext(dir.path));
  assertStringIncludes(outside.content, "outside the workspace");
  const directory = await WRITE_FILE.execute({ path: ".", content: "" }, makeToolContext(dir.path));
  assertStringIncludes(directory.content, "is a directory");
});

Deno.test("write_file and the other writers refuse a pipe without opening it", async () => {
  await using dir = await makeTempDir();
  await new Deno.Command("mkfifo", { args: [`${dir.path}/pipe`] }).output();
  const context = makeToolContext(dir.path);
  const written = await WRITE_FILE.execute({ path: "pipe", content: "x" }, context);
  assertEquals(written.content, "error: Cannot read pipe: it is a named pipe, not a regular file");
  const patch = "--- a/pipe\n+++ b/pipe\n@@ -1 +1 @@\n-a\n+b\n";
  assertStringIncludes((await APPLY_PATCH.execute({ patch }, context)).content, "named pipe");
});
