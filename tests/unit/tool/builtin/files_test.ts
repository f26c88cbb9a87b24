import { textOf } from "../../../../src/core/mod.ts";
import { APPLY_PATCH } from "../../../../src/tool/builtin/apply_patch/tool.ts";
import { EDIT_FILE, MULTI_EDIT } from "../../../../src/tool/builtin/edit_file/tool.ts";
import { MOVE_FILE } from "../../../../src/tool/builtin/move_file/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";
import { WRITE_FILE } from "../../../../src/tool/builtin/write_file/tool.ts";
import type { ToolContext } from "../../../../src/tool/mod.ts";
import { byteLength } from "../../../../src/util/bytes.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

Deno.test("read_file numbers lines from 1 and marks the file as seen", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "one\ntwo\n");
  const context = makeToolContext(dir.path);
  const result = await READ_FILE.execute({ path: "a.txt" }, context);
  assertEquals(result.content, "   1→one\n   2→two");
  assertEquals(textOf(result.summary), "2 lines");
  assertEquals(result.truncated, undefined);
  assertEquals(context.seen.get(`${dir.path}/a.txt`)?.size, 8);
});

Deno.test("read_file pages with offset and limit and explains how to continue", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(
    `${dir.path}/a.txt`,
    Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join(""),
  );
  const result = await READ_FILE.execute({ path: "a.txt", offset: 4, limit: 2 }, makeToolContext(dir.path));
  assertEquals(result.content, "   4→line 4\n   5→line 5\n[lines 4–5 of 10; continue with offset 6]");
  const rest = await READ_FILE.execute({ path: "a.txt", offset: 9 }, makeToolContext(dir.path));
  assertEquals(rest.content, "   9→line 9\n  10→line 10");
  const past = await READ_FILE.execute({ path: "a.txt", offset: 11 }, makeToolContext(dir.path));
  assertEquals(past.content, "(offset 11 is past the end: a.txt has 10 lines)");
});

Deno.test("read_file stays within its limits for a long file", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/lines.txt`, "x\n".repeat(5000));
  const many = await READ_FILE.execute({ path: "lines.txt" }, makeToolContext(dir.path));
  assertStringIncludes(many.content, "[lines 1–2000 of 5000; continue with offset 2001]");
  assertEquals(many.truncated?.reason, "lines");
  await Deno.writeTextFile(`${dir.path}/wide.txt`, `${"好".repeat(300)}\n`.repeat(500));
  const wide = await READ_FILE.execute({ path: "wide.txt" }, makeToolContext(dir.path));
  assert(byteLength(wide.content) < 33_000);
  assertEquals(wide.truncated?.reason, "bytes");
  const next = Number(/continue with offset (\d+)/.exec(wide.content)?.[1]);
  const more = await READ_FILE.execute(
    { path: "wide.txt", offset: next, limit: 1 },
    makeToolContext(dir.path),
  );
  assertStringIncludes(more.content, `${next}→好`);
});

Deno.test("read_file truncates a long line with a marker", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/min.js`, `${"a".repeat(100_000)}\nend\n`);
  const result = await READ_FILE.execute({ path: "min.js" }, makeToolContext(dir.path));
  assertMatch(result.content, /^ {3}1→a{2000}… \[line cut: 100000 bytes in all\]\n {3}2→end$/);
  assertEquals(result.truncated?.reason, "line_length");
});

Deno.test("read_file reports encoding and line ends other than UTF-8 with LF", async () => {
  await using dir = await makeTempDir();
  const cases: [string, number[], string][] = [
    ["bom.txt", [0xef, 0xbb, 0xbf, 0x61, 0x0a], "[encoding UTF-8 with BOM; kept by edits]"],
    [
      "u16.txt",
      [0xff, 0xfe, 0x61, 0, 0x0d, 0, 0x0a, 0],
      "[encoding UTF-16 LE with BOM; CRLF line ends; kept by edits]",
    ],
    ["gbk.txt", [0xd6, 0xd0, 0xce, 0xc4, 0x0a], "[encoding GB18030 (GBK); kept by edits]"],
    ["latin.txt", [0x63, 0x61, 0x66, 0xe9, 0x0a], "[encoding Latin-1 (windows-1252); kept by edits]"],
    ["open.txt", [0x61], "[no newline at the end; kept by edits]"],
    ["mixed.txt", [0x61, 0x0d, 0x0a, 0x62, 0x0a], "[mixed CRLF and LF line ends; kept by edits]"],
  ];
  for (const [name, bytes, note] of cases) {
    await Deno.writeFile(`${dir.path}/${name}`, new Uint8Array(bytes));
    const result = await READ_FILE.execute({ path: name }, makeToolContext(dir.path));
    assertEquals(result.content.split("\n").at(-1), note, name);
  }
});

Deno.test("read_file suggests similar names for a missing file", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/src`);
  await Deno.writeTextFile(`${dir.path}/src/parser.ts`, "");
  const result = await READ_FILE.execute({ path: "src/praser.ts" }, makeToolContext(dir.path));
  assertEquals(result.isError, true);
  assertEquals(result.content, "error: src/praser.ts does not exist; near names: src/parser.ts");
});

Deno.test("read_file refuses directories, pipes, sockets and devices without opening them", async () => {
  await using dir = await makeTempDir();
  await new Deno.Command("mkfifo", { args: [`${dir.path}/pipe`] }).output();
  using _socket = Deno.listen({ transport: "unix", path: `${dir.path}/sock` });
  for (
    const [path, word] of [[".", "directory"], ["pipe", "named pipe"], ["sock", "socket"], [
      "/dev/zero",
      "device",
    ]]
  ) {
    const result = await READ_FILE.execute({ path }, makeToolContext(dir.path));
    assertEquals(result.isError, true);
    assertStringIncludes(result.content, word ?? "");
  }
});

Deno.test({
  name: "read_file reads kernel files without a size and times out on those that block",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using dir = await makeTempDir();
    const version = await READ_FILE.execute({ path: "/proc/version" }, makeToolContext(dir.path));
    assertStringIncludes(version.content, "1→Linux version");
    const core = await READ_FILE.execute({ path: "/proc/kcore" }, makeToolContext(dir.path));
    assert(core.isError || core.content.includes("binary"));
  },
});

Deno.test("read_file describes binary files and images when the model cannot see", async () => {
  await using dir = await makeTempDir();
  await Deno.writeFile(`${dir.path}/a.zip`, new Uint8Array([0x50, 0x4b, 3, 4, 0, 0, 0, 0]));
  const zip = await READ_FILE.execute({ path: "a.zip" }, makeToolContext(dir.path));
  assertStringIncludes(zip.content, "binary file, zip archive (also docx, xlsx, jar), 8 bytes");
  await Deno.writeFile(`${dir.path}/a.png`, PNG);
  const blind = await READ_FILE.execute({ path: "a.png" }, makeToolContext(dir.path));
  assertEquals(
    blind.content,
    `a.png: PNG image, 3×2 pixels, ${PNG.length} bytes; this model cannot see images`,
  );
  assertEquals(blind.images, undefined);
  const seeing = await READ_FILE.execute(
    { path: "a.png" },
    makeToolContext(dir.path, { settings: { vision: true } }),
  );
  assertEquals(seeing.images, [{ mime: "image/png", data: PNG.toBase64() }]);
});

Deno.test("read_file streams a file above the whole-file size and stops after the page", async () => {
  await using dir = await makeTempDir();
  const line = `${"0123456789".repeat(10)}\r\n`;
  await Deno.writeTextFile(`${dir.path}/big.log`, line.repeat(100_000));
  const first = await READ_FILE.execute({ path: "big.log", limit: 2 }, makeToolContext(dir.path));
  assertStringIncludes(
    first.content,
    "[lines 1–2 of more than 2; continue with offset 3]\n[CRLF line ends; kept by edits]",
  );
  const late = await READ_FILE.execute({ path: "big.log", offset: 99_999 }, makeToolContext(dir.path));
  assertStringIncludes(late.content, `99999→${line.trimEnd()}\n100000→${line.trimEnd()}`);
  const past = await READ_FILE.execute({ path: "big.log", offset: 200_000 }, makeToolContext(dir.path));
  assertEquals(past.content, "(offset 200000 is past the end: big.log has 100000 lines)");
});

Deno.test("read_file ends at once when the call is aborted", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "one\n");
  const context = makeToolContext(dir.path, { signal: AbortSignal.abort() });
  let thrown: unknown;
  await READ_FILE.execute({ path: "a.txt" }, context).catch((error) => thrown = error);
  assertEquals((thrown as DOMException).name, "AbortError");
});

const PNG = new Uint8Array([
  0x89,
  0x50,
  0x4e,
  0x47,
  13,
  10,
  26,
  10,
  0,
  0,
  0,
  13,
  73,
  72,
  68,
  82,
  0,
  0,
  0,
  3,
  0,
  0,
  0,
  2,
]);

Deno.test("read_file suggests files of the same name in other directories, without forbidden ones", async () => {
  await using dir = await makeTempDir();
  for (const directory of ["pkg/core/src", "pkg/secret", "node_modules/x"]) {
    await Deno.mkdir(`${dir.path}/${directory}`, { recursive: true });
    await Deno.writeTextFile(`${dir.path}/${directory}/parser.ts`, "");
  }
  await Deno.writeTextFile(`${dir.path}/.gitignore`, "node_modules\n");
  const context = makeToolContext(dir.path);
  const paths = { ...context.paths, hidden: (path: string) => path.includes("/secret") };
  const result = await READ_FILE.execute({ path: "lib/parser.ts" }, { ...context, paths });
  assertEquals(result.content, "error: lib/parser.ts does not exist; near names: pkg/core/src/parser.ts");
  const near = await READ_FILE.execute({ path: "pkg/secrets/parser.ts" }, { ...context, paths });
  assertEquals(near.content.includes("secret/"), false);
});

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

async function seen(dir: string, name: string, text: string, overrides = {}): Promise<ToolContext> {
  await Deno.writeTextFile(`${dir}/${name}`, text);
  const context = makeToolContext(dir, overrides);
  await READ_FILE.execute({ path: name }, context);
  return context;
}

Deno.test("edit_file replaces text and returns the diff for front ends", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "one\ntwo\nthree");
  const result = await EDIT_FILE.execute({ path: "a.txt", old_string: "two", new_string: "2" }, context);
  assertEquals(result.content, "updated a.txt (+1 −1)");
  assertEquals(
    result.changes?.[0]?.diff,
    "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n",
  );
});

Deno.test("edit_file reports the match strategy and the number of replacements", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "  a\n  b \nx x\n");
  const first = await EDIT_FILE.execute(
    { path: "a.txt", old_string: "a\nb\n", new_string: "a\nc\n" },
    context,
  );
  assertEquals(
    first.content,
    "updated a.txt (+1 −1); matched after indenting by 2 spaces; written as:\n     1→  a\n     2→  c",
  );
  const all = await EDIT_FILE.execute(
    { path: "a.txt", old_string: "x", new_string: "y", replace_all: true },
    context,
  );
  assertEquals(all.content, "updated a.txt (+1 −1); 2 replacements");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "  a\n  c\ny y\n");
});

Deno.test("edit_file reports unchanged when old and new text are the same", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "one\n");
  const result = await EDIT_FILE.execute({ path: "a.txt", old_string: "one", new_string: "one" }, context);
  assertEquals(result.content, "unchanged a.txt: the file already has this content");
});

Deno.test("edit_file creates a missing file when old_string is empty", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  const result = await EDIT_FILE.execute({ path: "n.txt", old_string: "", new_string: "x\n" }, context);
  assertEquals(result.content, "created n.txt (+1 −0)");
  const again = await EDIT_FILE.execute({ path: "n.txt", old_string: "", new_string: "y\n" }, context);
  assertStringIncludes(again.content, "old_string is empty");
});

Deno.test("edit_file refuses a character that the encoding of the file lacks", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await Deno.writeFile(`${dir.path}/l.txt`, new Uint8Array([0x63, 0xe9, 0x0a]));
  await READ_FILE.execute({ path: "l.txt" }, context);
  const result = await EDIT_FILE.execute({ path: "l.txt", old_string: "c", new_string: "中" }, context);
  assertStringIncludes(result.content, 'encoded as Latin-1 (windows-1252), which has no character "中"');
  assertEquals([...await Deno.readFile(`${dir.path}/l.txt`)], [0x63, 0xe9, 0x0a]);
});

Deno.test("edit_file refuses binary and oversized files", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await Deno.writeFile(`${dir.path}/b.bin`, new Uint8Array([1, 0, 2, 0, 0, 0]));
  const binary = await EDIT_FILE.execute({ path: "b.bin", old_string: "a", new_string: "b" }, context);
  assertStringIncludes(binary.content, "b.bin is a binary file");
  await Deno.truncate(await touch(`${dir.path}/huge.txt`), 51 * 1024 * 1024);
  const huge = await EDIT_FILE.execute({ path: "huge.txt", old_string: "a", new_string: "b" }, context);
  assertStringIncludes(huge.content, "too large to edit");
});

Deno.test("multi_edit applies edits in order, or none of them", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "a\nb\n");
  const edits = [{ old_string: "a", new_string: "x" }, { old_string: "x\nb", new_string: "y\nz" }];
  const result = await MULTI_EDIT.execute({ path: "a.txt", edits }, context);
  assertEquals(result.content, "updated a.txt (+2 −2); 2 replacements");
  const broken = [{ old_string: "y", new_string: "w" }, { old_string: "nothing like it", new_string: "" }];
  const failed = await MULTI_EDIT.execute({ path: "a.txt", edits: broken }, context);
  assertStringIncludes(failed.content, "error: a.txt: edit 2 of 2: old_string was not found");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "y\nz\n");
});

Deno.test("move_file moves files and directories and never overwrites", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "a\n");
  const move = async (source_path: string, destination_path: string) =>
    (await MOVE_FILE.execute({ source_path, destination_path }, context)).content;
  assertEquals(await move("a.txt", "sub/b.txt"), "moved a.txt → sub/b.txt");
  const edit = await EDIT_FILE.execute({ path: "sub/b.txt", old_string: "a", new_string: "b" }, context);
  assertEquals(edit.content, "updated sub/b.txt (+1 −1)");
  assertEquals(await move("sub", "dir"), "moved sub → dir");
  const again = await EDIT_FILE.execute({ path: "dir/b.txt", old_string: "b", new_string: "c" }, context);
  assertEquals(again.content, "updated dir/b.txt (+1 −1)");
  await Deno.writeTextFile(`${dir.path}/c.txt`, "c\n");
  assertStringIncludes(await move("c.txt", "dir/b.txt"), "dir/b.txt already exists");
  assertStringIncludes(await move("dir", "dir/inner"), "into itself");
  assertStringIncludes(await move("nope.txt", "x.txt"), "nope.txt does not exist");
  assertStringIncludes(await move("c.txt", "dir"), "dir already exists; name the place in it: dir/c.txt");
  assertEquals(await Deno.readTextFile(`${dir.path}/dir/b.txt`), "c\n");
});

Deno.test("move_file moves a symlink itself", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/target.txt`, "t\n");
  await Deno.symlink("target.txt", `${dir.path}/link`);
  const context = makeToolContext(dir.path);
  await MOVE_FILE.execute({ source_path: "link", destination_path: "moved" }, context);
  assertEquals(await Deno.readLink(`${dir.path}/moved`), "target.txt");
  assertEquals(await Deno.readTextFile(`${dir.path}/target.txt`), "t\n");
});

async function touch(path: string): Promise<string> {
  await Deno.writeTextFile(path, "");
  return path;
}
