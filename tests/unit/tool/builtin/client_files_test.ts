import { APPLY_PATCH } from "../../../../src/tool/builtin/apply_patch/tool.ts";
import { EDIT_FILE } from "../../../../src/tool/builtin/edit_file/tool.ts";
import { MOVE_FILE } from "../../../../src/tool/builtin/move_file/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";
import { WRITE_FILE } from "../../../../src/tool/builtin/write_file/tool.ts";
import {
  loadClientFiles,
  loadProcessHost,
  LocalToolHost,
  type Tool,
  type ToolResult,
} from "../../../../src/tool/mod.ts";
import { createWorkspace } from "../../../../src/sandbox/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { type Behavior, FakeEditor } from "../../../support/fake_editor.ts";
import { type ContextOverrides, makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

const { ProcessToolHost, selfCommand } = await loadProcessHost();
const { guardedFiles } = await loadClientFiles();

/** File tools with an editor, in this process or in a worker. */
async function stage(options: { worker?: boolean; editor?: (dir: string) => FakeEditor } = {}) {
  const temp = await makeTempDir();
  const dir = temp.path;
  const editor = options.editor?.(dir) ?? new FakeEditor(dir);
  const sourceEntry = new URL("../host/entry.ts", import.meta.url);
  const flags = ["--no-check", "-A"];
  const host = options.worker
    ? new ProcessToolHost({
      command: selfCommand({ role: "tools", module: import.meta.url, sourceEntry, flags }),
      data: dir,
    })
    : new LocalToolHost();
  const seen = new Map();
  const { paths } = makeToolContext(dir);
  return {
    dir,
    editor,
    seen,
    path: (name: string) => `${dir}/${name}`,
    write: (name: string, text: string) => Deno.writeTextFile(`${dir}/${name}`, text),
    disk: (name: string) => Deno.readTextFile(`${dir}/${name}`).catch(() => undefined),
    call(tool: Tool, args: Record<string, unknown>, more: ContextOverrides = {}): Promise<ToolResult> {
      const policy = more.paths ?? paths;
      // Only a wait that has no end is ended soon, so that a busy machine decides nothing.
      const limits = {
        read: editor.reading === "stalls" ? 50 : 30_000,
        write: editor.writing === "stalls" ? 50 : editor.stallsLater ? 1000 : 30_000,
      };
      const files = guardedFiles(editor, policy, limits);
      return host.execute(tool, args, makeToolContext(dir, { seen, files, ...more }));
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

type Stage = Awaited<ReturnType<typeof stage>>;

const edit = (path: string, old_string: string, new_string: string) => ({ path, old_string, new_string });

for (const worker of [false, true]) {
  const where = worker ? "in a worker" : "in this process";

  Deno.test(`file tools ${where} read and change the unsaved text of an editor, which writes it once`, async () => {
    await using s = await stage({ worker });
    await s.write("a.txt", "one\ntwo\n");
    s.editor.buffers.set(s.path("a.txt"), "one\n2\n");
    const read = await s.call(READ_FILE, { path: "a.txt" });
    const note = "[text of the editor, not saved: commands and searches see an older one]";
    assertEquals(read.content, `   1→one\n   2→2\n${note}`);
    const result = await s.call(EDIT_FILE, edit("a.txt", "one", "1"));
    assertEquals(result.content, "updated a.txt (+1 −1)");
    assertEquals(await s.disk("a.txt"), "1\n2\n");
    // What was written counts as seen, without another read.
    const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n 1\n-2\n+zwei\n*** End Patch";
    assertEquals((await s.call(APPLY_PATCH, { patch })).content, "updated a.txt (+1 −1)");
    assertEquals(await s.disk("a.txt"), "1\nzwei\n");
    assertEquals((await s.call(WRITE_FILE, { path: "a.txt", content: "all\n" })).isError, undefined);
    assertEquals((await s.call(WRITE_FILE, { path: "sub/new.txt", content: "new\n" })).isError, undefined);
    assertEquals([await s.disk("a.txt"), await s.disk("sub/new.txt")], ["all\n", "new\n"]);
    assertEquals(
      s.editor.requests,
      [
        ...["read a.txt", "read a.txt", "write a.txt", "read a.txt", "write a.txt"],
        ...["read a.txt", "write a.txt", "read sub/new.txt", "write sub/new.txt"],
      ],
    );
  });

  Deno.test(`edit_file ${where} reports an editor that fails, and writes nothing in its place`, async () => {
    await using s = await stage({ worker });
    const cases: [Behavior, RegExp, string][] = [
      [
        "refuses",
        /^error: Cannot write (\w).txt: the editor refused it \(disk is full\); nothing was written$/,
        "one\n",
      ],
      [
        "stalls",
        /: the editor did not answer within 0.05 s; it may still write it; read_file shows the text it has now$/,
        "one\n",
      ],
      ["dies", /: the connection to the editor has ended; nothing was written$/, "one\n"],
      ["ignores", /: the editor reported success, but the text is unchanged$/, "one\n"],
    ];
    for (const [index, [behavior, content, disk]] of cases.entries()) {
      const name = `${index}.txt`;
      s.editor.writing = "honest";
      await s.write(name, "one\n");
      await s.call(READ_FILE, { path: name });
      s.editor.writing = behavior;
      const result = await s.call(EDIT_FILE, edit(name, "one", "two"));
      assertMatch(result.content, content, behavior);
      assertEquals([result.isError, await s.disk(name)], [true, disk], behavior);
      assertEquals(s.editor.requests.filter((each) => each === `write ${name}`).length, 1, behavior);
    }
    s.editor.writing = "refuses";
    const made = await s.call(WRITE_FILE, { path: "new/b.txt", content: "b\n" });
    assertMatch(made.content, /nothing was written$/);
    assertEquals(await Deno.stat(s.path("new")).catch(() => "none"), "none");
  });

  Deno.test(`edit_file ${where} reports an editor that does not give its text, and writes nothing`, async () => {
    await using s = await stage({ worker });
    await s.write("a.txt", "one\n");
    await s.call(READ_FILE, { path: "a.txt" });
    for (
      const [behavior, reason] of [
        ["refuses", "the editor refused it (disk is full)"],
        ["stalls", "the editor did not answer within 0.05 s"],
        ["dies", "the connection to the editor has ended"],
      ] as const
    ) {
      s.editor.reading = behavior;
      const read = await s.call(READ_FILE, { path: "a.txt" });
      assertEquals(
        read.content,
        `   1→one\n[Cannot read a.txt: ${reason}; this is the text on the disk]`,
      );
      const result = await s.call(EDIT_FILE, edit("a.txt", "one", "two"));
      assertEquals(result.content, `error: Cannot read a.txt: ${reason}`);
      if (behavior === "refuses") continue;
      const made = await s.call(WRITE_FILE, { path: "new.txt", content: "new\n" });
      assertEquals(made.content, `error: Cannot write new.txt: ${reason}; nothing was written`);
    }
    assertEquals([await s.disk("a.txt"), await s.disk("new.txt")], ["one\n", undefined]);
    assertEquals(s.editor.requests.some((each) => each.startsWith("write")), false);
  });
}

Deno.test("edit_file reports another text that the editor saved, and what it did not save", async () => {
  await using s = await stage();
  await s.write("a.txt", "one\ntwo\n");
  await s.call(READ_FILE, { path: "a.txt" });
  s.editor.format = (text) => text.replace("a = 1", "a = 1;");
  const formatted = await s.call(EDIT_FILE, edit("a.txt", "one", "a = 1"));
  assertEquals(
    formatted.content,
    "updated a.txt (+1 −1); the editor changed the text that it was given, as a formatter does:\n" +
      "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 1;\n two\n",
  );
  assertMatch(formatted.changes?.[0]?.diff ?? "", /^\+a = 1;$/m);
  // The result shows the text, so that it counts as seen.
  s.editor.writing = "does not save";
  const open = await s.call(EDIT_FILE, edit("a.txt", "a = 1;", "b = 2"));
  assertEquals(
    open.content,
    "updated a.txt (+1 −1); the editor has not saved it: commands and searches see the file as it was",
  );
  assertEquals(await s.disk("a.txt"), "a = 1;\ntwo\n");
  s.editor.writing = "falsifies";
  const lie = await s.call(EDIT_FILE, edit("a.txt", "b = 2", "c = 3"));
  assertMatch(
    lie.content,
    /the editor changed the text that it was given.*\n-c = 3\n-two\n\+something else\n/s,
  );
});

Deno.test("edit_file refuses a text that changed in the editor, and waits for an outdated one", async () => {
  await using s = await stage();
  await s.write("a.txt", "one\n");
  await s.call(READ_FILE, { path: "a.txt" });
  s.editor.buffers.set(s.path("a.txt"), "one\nmore\n");
  const changed = await s.call(EDIT_FILE, edit("a.txt", "one", "1"));
  assertEquals(
    changed.content,
    "error: a.txt has changed in the editor since it was read; read_file it again",
  );
  await s.call(READ_FILE, { path: "a.txt" });
  // A command changes the file, which the editor has not noticed.
  await s.write("a.txt", "by a command\n");
  await Deno.utime(s.path("a.txt"), 1, 1);
  const both = "a.txt has changed on the disk, and the editor has another text";
  const conflict = await s.call(EDIT_FILE, edit("a.txt", "one", "1"));
  assertEquals(conflict.content, `error: ${both}; have the user save or reload it in the editor`);
  const read = await s.call(READ_FILE, { path: "a.txt" });
  assertEquals(read.content, `   1→by a command\n[${both}; this is the text on the disk]`);
  // It notices while the tool waits.
  let reads = 0;
  s.editor.read = () => {
    if (++reads > 1) s.editor.buffers.delete(s.path("a.txt"));
    return Promise.resolve(s.editor.buffers.get(s.path("a.txt")) ?? "by a command\n");
  };
  assertEquals((await s.call(READ_FILE, { path: "a.txt" })).content, "   1→by a command");
  assertEquals((await s.call(EDIT_FILE, edit("a.txt", "by", "of"))).isError, undefined);
});

Deno.test("file tools keep line ends that an editor does not have, and the end of the last line", async () => {
  await using s = await stage();
  await s.write("a.txt", "one\r\ntwo\r\n");
  const asLines = (text: string) => text.replaceAll("\r\n", "\n").replace(/\n$/, "");
  const { read } = s.editor;
  s.editor.read = async (path, signal) => asLines(await read.call(s.editor, path, signal) ?? "");
  assertEquals((await s.call(READ_FILE, { path: "a.txt" })).content.includes("not saved"), false);
  assertEquals((await s.call(EDIT_FILE, edit("a.txt", "two", "2"))).content, "updated a.txt (+1 −1)");
  assertEquals(await s.disk("a.txt"), "one\r\n2\r\n");
  s.editor.buffers.set(s.path("a.txt"), "one\n2\nthree");
  await s.call(READ_FILE, { path: "a.txt" });
  const args = edit("a.txt", "three", "3");
  const settings = { ensureTrailingNewline: true };
  assertEquals((await s.call(EDIT_FILE, args, { settings })).content, "updated a.txt (+1 −1)");
  assertEquals(await s.disk("a.txt"), "one\r\n2\r\n3\r\n");
  s.editor.format = (text) => text.replaceAll("\n", "\r\n");
  assertEquals(
    (await s.call(WRITE_FILE, { path: "new.txt", content: "a\n" })).content,
    "created new.txt (+1 −0)",
  );
});

Deno.test("the editor gets no file but plain UTF-8 of its directories under one name", async () => {
  await using s = await stage({ editor: (dir) => new FakeEditor(`${dir}/shown`) });
  await Deno.mkdir(s.path("shown"));
  const files: Record<string, Uint8Array | string> = {
    "outside.txt": "one\n",
    "shown/bom.txt": "\ufeffone\n",
    "shown/gbk.txt": new Uint8Array([0xd6, 0xd0, 0xce, 0xc4, 0x0a, 0x6f, 0x6e, 0x65, 0x0a]),
    "shown/linked.txt": "one\n",
    "shown/huge.txt": `one\n${"x".repeat(8 << 20)}\n`,
  };
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeFile(
      s.path(name),
      typeof content === "string" ? new TextEncoder().encode(content) : content,
    );
  }
  await Deno.link(s.path("shown/linked.txt"), s.path("elsewhere.txt"));
  for (const path of Object.keys(files)) {
    await s.call(READ_FILE, { path, limit: 1 });
    const result = await s.call(EDIT_FILE, edit(path, "one", "1"));
    assertEquals(result.isError, undefined, result.content);
  }
  const writes = s.editor.requests.filter((each) => each.startsWith("write"));
  const reads = new Set(s.editor.requests.filter((each) => each.startsWith("read")));
  assertEquals([writes, [...reads]], [[], ["read linked.txt"]]);
  assertEquals(await s.disk("elsewhere.txt"), "one\n");
});

Deno.test("what an editor cannot write is not changed while it has unsaved text", async () => {
  await using s = await stage();
  await s.write("a.txt", "one\n");
  await s.write("b.txt", "one\n");
  await Deno.link(s.path("b.txt"), s.path("c.txt"));
  for (const name of ["a.txt", "b.txt"]) {
    s.editor.buffers.set(s.path(name), "one\nmore\n");
    await s.call(READ_FILE, { path: name });
  }
  const why = "has unsaved changes in the editor, which cannot write it";
  const remedy = "have the user save the file first";
  const moved = await s.call(MOVE_FILE, { source_path: "a.txt", destination_path: "d.txt" });
  assertEquals(moved.content, `error: a.txt ${why}; ${remedy}`);
  const edited = await s.call(EDIT_FILE, edit("b.txt", "one", "1"));
  assertEquals(edited.content, `error: b.txt ${why}; ${remedy}`);
  const patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch";
  const deleted = await s.call(APPLY_PATCH, { patch });
  assertMatch(deleted.content, /^error: a\.txt has unsaved changes in the editor/);
  s.editor.buffers.set(s.path("new.txt"), "begun\n");
  const made = await s.call(WRITE_FILE, { path: "new.txt", content: "other\n" });
  assertEquals(made.content, `error: new.txt has text in the editor and is not saved; ${remedy}`);
  assertEquals(await Promise.all(["a.txt", "b.txt", "new.txt"].map(s.disk)), ["one\n", "one\n", undefined]);
});

Deno.test("an editor that only reads or only writes is used for that", async () => {
  await using s = await stage();
  const { editor } = s;
  const only = (files: Partial<FakeEditor>) => ({ files: { directories: [s.dir], ...files } });
  await s.write("a.txt", "one\n");
  const read = only({ read: (...args) => editor.read(...args) });
  await s.call(READ_FILE, { path: "a.txt" }, read);
  assertEquals((await s.call(EDIT_FILE, edit("a.txt", "one", "two"), read)).isError, undefined);
  editor.buffers.set(s.path("a.txt"), "open\n");
  await s.call(READ_FILE, { path: "a.txt" }, read);
  const refused = await s.call(EDIT_FILE, edit("a.txt", "open", "shut"), read);
  assertMatch(refused.content, /has unsaved changes in the editor, which cannot write it/);
  editor.buffers.clear();
  const write = only({ write: (...args) => editor.write(...args) });
  await s.call(READ_FILE, { path: "a.txt" }, write);
  assertEquals((await s.call(EDIT_FILE, edit("a.txt", "two", "three"), write)).isError, undefined);
  assertEquals([await s.disk("a.txt"), editor.requests.at(-1)], ["three\n", "write a.txt"]);
});

Deno.test("nothing is written by the editor in a dry run, when writes are denied, or where nothing changes", async () => {
  await using s = await stage();
  await s.write("a.txt", "one\n");
  s.editor.buffers.set(s.path("a.txt"), "open\n");
  await s.call(READ_FILE, { path: "a.txt" });
  const dry = await s.call(EDIT_FILE, edit("a.txt", "open", "shut"), { settings: { writes: "dry-run" } });
  assertMatch(
    dry.content,
    /^dry run, nothing was written; would change a\.txt \(\+1 −1\)\n.*\n-open\n\+shut\n/s,
  );
  await s.call(EDIT_FILE, edit("a.txt", "open", "shut"), { settings: { writes: "deny" } });
  const same = await s.call(WRITE_FILE, { path: "a.txt", content: "open\n" });
  assertMatch(same.content, /^unchanged/);
  assertEquals(s.editor.requests.some((each) => each.startsWith("write")), false);
});

const PATCH = `*** Begin Patch
*** Update File: a.txt
@@
-one
+1
*** Update File: b.txt
@@
-one
+1
*** Add File: sub/c.txt
+new
*** Delete File: d.txt
*** End Patch`;

async function patched(s: Stage, second: Behavior): Promise<ToolResult> {
  for (const name of ["a.txt", "b.txt", "d.txt"]) await s.write(name, "one\n");
  const { write } = s.editor;
  s.editor.stallsLater = second === "stalls";
  s.editor.write = async (path, text, signal) => {
    // Only the new file fails, and the way back works if the editor answers.
    s.editor.writing = path.endsWith("c.txt") ? second : "honest";
    await write.call(s.editor, path, text, signal);
  };
  return await s.call(APPLY_PATCH, { patch: PATCH });
}

async function texts(s: Stage): Promise<(string | undefined)[]> {
  return await Promise.all(["a.txt", "b.txt", "sub/c.txt", "d.txt"].map(s.disk));
}

Deno.test("apply_patch has the editor write what it can, and takes all back when it refuses a file", async () => {
  {
    await using s = await stage();
    const result = await patched(s, "honest");
    assertEquals(result.isError, undefined, result.content);
    assertEquals(await texts(s), ["1\n", "1\n", "new\n", undefined]);
    const writes = s.editor.requests.filter((each) => each.startsWith("write"));
    assertEquals(writes, ["write a.txt", "write b.txt", "write sub/c.txt"]);
  }
  {
    await using s = await stage();
    const result = await patched(s, "refuses");
    assertEquals(
      result.content,
      "error: Cannot write sub/c.txt: the editor refused it (disk is full); nothing was written; " +
        "no other file was changed",
    );
    assertEquals(await texts(s), ["one\n", "one\n", undefined, "one\n"]);
    assertEquals(await Deno.stat(s.path("sub")).catch(() => "none"), "none");
  }
  for (const behavior of ["stalls", "dies"] as const) {
    await using s = await stage();
    const result = await patched(s, behavior);
    assertMatch(
      result.content,
      /; and not everything could be taken back: b\.txt stays changed, a\.txt stays changed/,
    );
    assertEquals(await texts(s), ["1\n", "1\n", undefined, "one\n"]);
    assertEquals(s.editor.requests.filter((each) => each.startsWith("write")).length, 3, behavior);
  }
});

Deno.test("a call that is stopped stops to wait for the editor", async () => {
  for (const worker of [false, true]) {
    await using s = await stage({ worker });
    await s.write("a.txt", "one\n");
    await s.call(READ_FILE, { path: "a.txt" });
    const stop = new AbortController();
    const files = guardedFiles(s.editor, makeToolContext(s.dir).paths);
    s.editor.writing = "stalls";
    const asked = Promise.withResolvers<AbortSignal>();
    const { write } = s.editor;
    s.editor.write = (path, text, signal) => {
      asked.resolve(signal);
      return write.call(s.editor, path, text, signal);
    };
    const call = s.call(EDIT_FILE, edit("a.txt", "one", "two"), { files, signal: stop.signal });
    const signal = await asked.promise;
    stop.abort();
    await assertRejects(() => call, DOMException);
    assert(signal.aborted, "the editor hears of it");
    assertEquals(await s.disk("a.txt"), "one\n");
  }
});

Deno.test("attack: a hidden, outside or linked path never reaches the editor", async () => {
  await using s = await stage();
  await Deno.mkdir(s.path("w/secret"), { recursive: true });
  await Deno.mkdir(s.path("home"));
  for (const name of ["w/secret/key", "w/a.txt", "outside.txt"]) await s.write(name, "one\n");
  await Deno.symlink("a.txt", s.path("w/link.txt"));
  await Deno.symlink("secret/key", s.path("w/trap.txt"));
  await Deno.symlink(s.path("outside.txt"), s.path("w/out.txt"));
  await Deno.link(s.path("w/secret/key"), s.path("w/twin.txt"));
  const paths = createWorkspace({
    cwd: s.path("w"),
    roots: [s.path("w")],
    forbidRead: [s.path("w/secret")],
    home: s.path("home"),
  });
  const context = { paths, cwd: s.path("w") };
  for (const path of ["secret/key", "trap.txt", "twin.txt"]) {
    const read = await s.call(READ_FILE, { path }, context);
    assertMatch(read.content, /^error: .*forbidden/, path);
    const written = await s.call(WRITE_FILE, { path, content: "x" }, context);
    assertEquals(written.isError, true, path);
  }
  assertEquals(s.editor.requests, []);
  await s.call(READ_FILE, { path: "out.txt" }, context);
  const outside = await s.call(WRITE_FILE, { path: "out.txt", content: "x" }, context);
  assertMatch(outside.content, /outside the writable roots/);
  assertEquals((await s.call(READ_FILE, { path: "link.txt" }, context)).isError, undefined);
  assertEquals(
    (await s.call(WRITE_FILE, { path: "link.txt", content: "new\n" }, context)).isError,
    undefined,
  );
  assertEquals(s.editor.requests, ["read outside.txt", "read w/a.txt", "read w/a.txt", "write w/a.txt"]);
  assertEquals((await Deno.lstat(s.path("w/link.txt"))).isSymlink, true);
  // A worker process that was taken over asks for any path.
  const files = guardedFiles(s.editor, paths);
  const { signal } = new AbortController();
  for (const path of ["w/secret/key", "w/trap.txt", "w/link.txt"]) {
    await assertRejects(async () => await files.read?.(s.path(path), signal));
  }
  for (const path of ["outside.txt", "w/out.txt", "home/config.toml", "w/secret/key"]) {
    await assertRejects(async () => await files.write?.(s.path(path), "x", signal));
  }
  assertEquals(s.editor.requests.length, 4);
  // A directory is swapped for a link while the editor writes.
  await Deno.mkdir(s.path("w/sub"));
  await Deno.mkdir(s.path("other"));
  const { write } = s.editor;
  s.editor.write = async (path, text, signal) => {
    await Deno.rename(s.path("w/sub"), s.path("w/gone"));
    await Deno.symlink(s.path("other"), s.path("w/sub"));
    await write.call(s.editor, path, text, signal);
  };
  const swapped = await s.call(WRITE_FILE, { path: "sub/b.txt", content: "new\n" }, context);
  assertMatch(swapped.content, /^error: Cannot use .*sub\/b\.txt: it was replaced while it was being opened/);
});
