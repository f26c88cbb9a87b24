import { textOf } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";
import { byteLength } from "../../../../src/util/bytes.ts";

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
