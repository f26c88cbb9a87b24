import { stageFile, writeFileAtomic } from "../../../src/util/atomic_write.ts";
import { displayWidth, fitDisplay, padDisplay } from "../../../src/util/display_width.ts";
import { listField, parseFrontmatter, scalarText, textField } from "../../../src/util/frontmatter.ts";
import { jsonLine, mapTexts, scanJsonl } from "../../../src/util/json.ts";
import { linesOf, LineSplitter } from "../../../src/util/lines.ts";
import { FileLock } from "../../../src/util/lock.ts";
import { findProgram } from "../../../src/util/process.ts";
import { createRedactor, isOrdinaryText, looksLikeSecret } from "../../../src/util/redact.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { unlessAborted } from "../../../src/util/timer.ts";
import { attachments, userText } from "../../../src/util/user_text.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { whileProgramsStart } from "../../support/processes.ts";
import { removeTree } from "../../support/remove_tree.ts";

function names(dir: string): string[] {
  return [...Deno.readDirSync(dir)].map((entry) => entry.name).sort();
}

Deno.test("writeFileAtomic creates and replaces a file without temporary files", async () => {
  await using dir = await makeTempDir();
  await writeFileAtomic(`${dir.path}/a`, "one", { mode: 0o640, sync: true });
  assertEquals(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o777, 0o640);
  await writeFileAtomic(`${dir.path}/a`, new Uint8Array([50]));
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "2");
  assertEquals(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o777, 0o640);
  assertEquals(names(dir.path), ["a"]);
});

Deno.test("writeFileAtomic writes through a symlink and keeps the link", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/sub`);
  await Deno.writeTextFile(`${dir.path}/sub/real`, "old");
  await Deno.symlink("sub/real", `${dir.path}/link`);
  await writeFileAtomic(`${dir.path}/link`, "new");
  assertEquals(await Deno.readLink(`${dir.path}/link`), "sub/real");
  assertEquals(await Deno.readTextFile(`${dir.path}/sub/real`), "new");
});

Deno.test({
  name: "writeFileAtomic keeps the owner" +
    (Deno.uid() === 0 ? "" : " [skipped: only root can give files away]"),
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await using dir = await makeTempDir();
    await Deno.writeTextFile(`${dir.path}/a`, "old");
    await Deno.chown(`${dir.path}/a`, 12_345, 12_345);
    await writeFileAtomic(`${dir.path}/a`, "new");
    const info = await Deno.stat(`${dir.path}/a`);
    assertEquals([info.uid, info.gid], [12_345, 12_345]);
  },
});

/** Prevents new files next to the target, like a directory without write permission. */
const noneBeside = (path: string) => {
  if (path.endsWith(".tmp")) throw new Deno.errors.PermissionDenied("no new files here");
};

Deno.test("writeFileAtomic writes in place when no file can be created next to it, after a second check", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a`;
  await Deno.writeTextFile(path, "old");
  await writeFileAtomic(path, "new", { verify: (_, path) => Promise.resolve(noneBeside(path)) });
  assertEquals([await Deno.readTextFile(path), names(dir.path)], ["new", ["a"]]);
  const verify = (_: Deno.FsFile, path: string) => {
    noneBeside(path);
    return Promise.reject(new Error("It leads elsewhere"));
  };
  await assertRejects(() => writeFileAtomic(path, "newer", { verify }), Error, "It leads elsewhere");
  assertEquals(await Deno.readTextFile(path), "new");
});

Deno.test("writeFileAtomic never writes in place to a file with another hard link", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "old");
  await Deno.link(`${dir.path}/a`, `${dir.path}/b`);
  const verify = (_: Deno.FsFile, path: string) => Promise.resolve(noneBeside(path));
  await assertRejects(
    () => writeFileAtomic(`${dir.path}/a`, "new", { verify }),
    Deno.errors.PermissionDenied,
  );
  assertEquals([await Deno.readTextFile(`${dir.path}/b`), names(dir.path)], ["old", ["a", "b"]]);
});

Deno.test("writeFileAtomic keeps a verified path unchanged and its new file private", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/sub`);
  await Deno.writeTextFile(`${dir.path}/sub/real`, "old");
  await Deno.chmod(`${dir.path}/sub/real`, 0o644);
  await Deno.symlink("sub/real", `${dir.path}/link`);
  const seen: string[] = [];
  const verify = (file: Deno.FsFile, path: string) => {
    seen.push(`${path.slice(0, path.lastIndexOf("/"))} ${((file.statSync().mode ?? 0) & 0o777).toString(8)}`);
    return Promise.resolve();
  };
  await writeFileAtomic(`${dir.path}/link`, "new", { verify });
  assertEquals([await Deno.readTextFile(`${dir.path}/sub/real`), seen], ["old", [`${dir.path} 600`]]);
  assertEquals((await Deno.lstat(`${dir.path}/link`)).isFile, true);
});

Deno.test("writeFileAtomic leaves no temporary file when the target is a directory", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/a`);
  await assertRejects(() => writeFileAtomic(`${dir.path}/a`, "x"));
  assertEquals(names(dir.path), ["a"]);
});

Deno.test("stageFile does not change the target before the commit", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "old");
  const staged = await stageFile(`${dir.path}/a`, "new");
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "old");
  assertEquals(names(dir.path).length, 2);
  await staged.discard();
  assertEquals(names(dir.path), ["a"]);
  const again = await stageFile(`${dir.path}/a`, "new", { setMode: 0o755 });
  await again.commit();
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "new");
  assert(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o100);
});

Deno.test("writeFileAtomic rejects and cleans up when the directory does not exist", async () => {
  await using dir = await makeTempDir();
  await assertRejects(() => writeFileAtomic(`${dir.path}/no/a`, "x"), Deno.errors.NotFound);
  assertEquals(names(dir.path), []);
});

Deno.test("displayWidth counts wide characters as two columns and combining marks as none", () => {
  const lines = ["abc", "日本語", "e\u0301", "👩‍👩‍👧", "한글a", ""];
  assertEquals(lines.map(displayWidth), [3, 6, 1, 2, 5, 0]);
});

Deno.test("displayWidth handles emoji, flags, marks, syllables and variation selectors", () => {
  const table: Readonly<Record<string, number>> = {
    "👍🏽": 2,
    "👩‍👩‍👧": 2,
    "🇩🇪🇯🇵": 4,
    "🏴\u{e0067}\u{e0062}\u{e007f}": 2,
    "☝🏽": 2,
    "❤": 1,
    "❤️": 2,
    "1️⃣": 2,
    "☕": 2,
    "☕\ufe0e": 1,
    "©™": 2,
    "नमस्ते": 4,
    "한": 2,
    "ᄒ\u1161\u11ab": 2,
    "ｶﾞ": 2,
    "สวัสดี": 4,
    "e\u0301\u0323": 1,
    "\u200b\ufeff\u200d": 0,
    "a\tb": 2,
    "→─█": 3,
    "「漢、字」": 10,
    "𠀀": 2,
    "\x1b[31m漢\x1b[0m": 2,
    "\x1b]8;;https://a.example/\x1b\\a\x1b]8;;\x1b\\": 1,
  };
  for (const [text, cells] of Object.entries(table)) assertEquals(displayWidth(text), cells, text);
});

Deno.test("padDisplay pads to the width on either side and keeps wider text", () => {
  assertEquals([padDisplay("日本", 6), padDisplay("7", 3, "left"), padDisplay("wider", 2)], [
    "日本  ",
    "  7",
    "wider",
  ]);
});

Deno.test("fitDisplay truncates between grapheme clusters", () => {
  assertEquals(fitDisplay("fits", 4), "fits");
  assertEquals(fitDisplay("日本語です", 6), "日本…");
  assertEquals(fitDisplay("a👩‍👩‍👧b c", 4), "a👩‍👩‍👧…");
  assertEquals(displayWidth(fitDisplay("ｗｉｄｅ text", 5)), 5);
});

function fields(block: string) {
  return parseFrontmatter(`---\n${block}\n---\nbody`).fields;
}

Deno.test("parseFrontmatter splits the block from the body, with BOM and CRLF", () => {
  const read = parseFrontmatter("\uFEFF---\r\nname: a\r\n---\r\n\r\nText\r\n");
  assertEquals([read.fields, read.body, read.problems], [{ name: "a" }, "\nText\n", []]);
  assertEquals(parseFrontmatter("# Just text").body, "# Just text");
});

Deno.test("parseFrontmatter reads block scalars in both styles", () => {
  assertEquals(fields("a: >-\n  one\n  two\n\n  three\nb: |\n  x\n    y\nc: z"), {
    a: "one two\nthree",
    b: "x\n  y",
    c: "z",
  });
});

Deno.test("parseFrontmatter reads quotes, comments, lists, maps and texts over several lines", () => {
  assertEquals(
    fields(`q: "say \\"hi\\": \\u4f60"  # why\ns: 'it''s'\np: plain # note\nm: one\n  two\nn:\n  below`),
    {
      q: 'say "hi": 你',
      s: "it's",
      p: "plain",
      m: "one two",
      n: "below",
    },
  );
  assertEquals(fields(`l:\n  - a\n  - "b, c"\ni: [x, "y, z"]\nk: { a: 1, b: two }`), {
    l: ["a", "b, c"],
    i: ["x", "y, z"],
    k: { a: "1", b: "two" },
  });
  assertEquals(fields("metadata:\n  author: me\n  # why\n  'a b': \"1.0\"\nx: y"), {
    metadata: { author: "me", "a b": "1.0" },
    x: "y",
  });
});

Deno.test("parseFrontmatter accepts an unquoted colon and reports the line", () => {
  const read = parseFrontmatter("---\nname: x\ndescription: Use when: asked\n---\n");
  assertEquals(textField(read, "description"), "Use when: asked");
  assertEquals(read.problems.map((problem) => problem.line), [3]);
  assertStringIncludes(read.problems[0]?.text ?? "", "quotes");
});

Deno.test("parseFrontmatter never throws and reports what it skipped", () => {
  for (const text of ["---\nname: x", '---\na: "open\n---\n', "---\n- x\n: y\n\t\n---", "---\n---", "---"]) {
    parseFrontmatter(text);
  }
  assertEquals(parseFrontmatter("---\nname: x").problems.length, 1);
  assertEquals(parseFrontmatter("---\n???\n---\n").problems.map((problem) => problem.line), [2]);
});

Deno.test("listField accepts lists and strings and keeps parentheses together", () => {
  const read = parseFrontmatter("---\na: Read Bash(git add:*), Edit\nb: [x, y]\n---\n");
  assertEquals(listField(read, "a"), ["Read", "Bash(git add:*)", "Edit"]);
  assertEquals(listField(read, "b"), ["x", "y"]);
  assertEquals(listField(read, "c"), []);
});

Deno.test("scalarText round-trips values", () => {
  for (
    const text of [
      "plain",
      "with: colon",
      ' "quoted"',
      "# hash",
      "true",
      "12",
      "back\\slash",
      "你好",
      "",
      "a\nb",
    ]
  ) {
    const read = parseFrontmatter(`---\nkey: ${scalarText(text)}\n---\n`);
    assertEquals([textField(read, "key"), read.problems], [text, []]);
  }
});

function scan(content: Uint8Array | string, from?: number) {
  const path = Deno.makeTempFileSync();
  try {
    Deno.writeFileSync(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    const seen: [unknown, number, number, number][] = [];
    const report = scanJsonl(path, (value, { line, offset, length }) => {
      seen.push([value, line, offset, length]);
    }, from === undefined ? {} : { from });
    return { seen, ...report, tail: new TextDecoder().decode(report.tail) };
  } finally {
    Deno.removeSync(path);
  }
}

Deno.test("scanJsonl returns values with offsets and reports damaged and unfinished lines", () => {
  const { seen, end, tail, damaged, lines } = scan('{"a":1}\n\nnot json\n"é"\r\n[1');
  assertEquals(seen, [[{ a: 1 }, 1, 0, 7], ["é", 4, 18, 5]]);
  assertEquals([end, tail, damaged, lines], [24, "[1", [3], 4]);
});

Deno.test("scanJsonl continues from an offset", () => {
  assertEquals(scan("1\n22\n333\n", 5).seen, [[333, 1, 5, 3]]);
});

Deno.test("scanJsonl reads empty files and lines larger than its buffer", () => {
  assertEquals(scan("").lines, 0);
  const long = JSON.stringify("漢".repeat(400_000));
  const { seen, lines } = scan(`1\n${long}\n2\n${long}\n3\n`);
  assertEquals([lines, seen.map(([value]) => typeof value === "string" ? value.length : value)], [
    5,
    [1, 400_000, 2, 400_000, 3],
  ]);
});

for (const shift of [0, 1, 2]) {
  Deno.test(`jsonLine equals JSON.stringify for surrogate pairs ${shift} units off the chunk borders`, () => {
    const text = ".".repeat(shift) + '\u{1F98A}"\\\n\0\ud800 é\u2028'.repeat(60_000) + "\udfff";
    const record = { v: 1, type: "x", content: text, none: undefined, calls: [{ id: text }], nothing: null };
    const line = jsonLine(record);
    const whole = `${JSON.stringify(record)}\n`;
    assert([...line].join("") === whole, "the line differs");
    assert([...line].join("") === whole, "the line differs the second time");
  });
}

Deno.test("jsonLine splits long texts and keeps short lines whole", () => {
  const longest = (line: Iterable<string>) => Math.max(...[...line].map((piece) => piece.length));
  assert(longest(jsonLine({ content: "x".repeat(3_000_000) })) < 50_000);
  assertEquals([...jsonLine({ a: "x" })], ['{"a":"x"}', "\n"]);
});

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("LineSplitter drops a line that is too long as it comes, and reports it once", () => {
  let reports = 0;
  const splitter = new LineSplitter(5, () => reports++);
  const push = (text: string) => splitter.push(new TextEncoder().encode(text));
  assertEquals([push("12345\n123"), push("456"), push("7890"), reports], [["12345"], [], [], 1]);
  assertEquals([push("1\nab"), push("cd\n"), splitter.end(), reports], [[], ["abcd"], "", 1]);
});

Deno.test("LineSplitter returns whole lines for any split of the stream, even inside a character", () => {
  const all = bytes("one\nzwei ü\n\nrest");
  for (let cut = 0; cut <= all.length; cut++) {
    const splitter = new LineSplitter();
    const lines = [...splitter.push(all.subarray(0, cut)), ...splitter.push(all.subarray(cut))];
    assertEquals([...lines, splitter.end()], ["one", "zwei ü", "", "rest"]);
  }
});

Deno.test("linesOf omits a last line without a line feed", async () => {
  const lines: string[] = [];
  for await (const line of linesOf(ReadableStream.from([bytes("a\nb"), bytes("\nc")]))) lines.push(line);
  assertEquals(lines, ["a", "b"]);
});

async function withDirectory(run: (directory: string) => void | Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(directory);
  } finally {
    await removeTree(directory);
  }
}

Deno.test("FileLock has one holder, names it, and is removed on release", () =>
  withDirectory((directory) => {
    const path = `${directory}/x.lock`;
    const first = FileLock.tryAcquire(path);
    assert(first.held);
    const second = FileLock.tryAcquire(path);
    assert(!second.held);
    assertEquals(second.owner.pid, Deno.pid);
    assert(Date.parse(second.owner.since ?? "") > 0);
    first.lock.release();
    assertEquals([...Deno.readDirSync(directory)], []);
    const third = FileLock.tryAcquire(path);
    assert(third.held);
    third.lock.release();
  }));

Deno.test("FileLock says who has a lock without leaving one, also while programs are started", () =>
  withDirectory((directory) =>
    whileProgramsStart(() => {
      const path = `${directory}/x.lock`;
      Deno.writeTextFileSync(path, "");
      for (let count = 0; count < 3000; count++) {
        assertEquals(FileLock.ownerOf(path), undefined);
        using file = Deno.openSync(path, { write: true });
        assert(file.tryLockSync(true), `locked after ${count}`);
        file.unlockSync();
      }
    })
  ));

Deno.test("FileLock of a killed process is released immediately", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/x.lock`;
    const module = new URL("../../../src/util/lock.ts", import.meta.url).href;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `import { FileLock } from "${module}"; const lock = FileLock.tryAcquire(${JSON.stringify(path)});
         await Deno.stdout.write(new TextEncoder().encode("held")); setInterval(() => lock, 1000);`,
      ],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    const busy = FileLock.tryAcquire(path);
    assertEquals(busy.held ? undefined : busy.owner.pid, child.pid);
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    const free = FileLock.tryAcquire(path);
    assert(free.held);
    free.lock.release();
  }));

Deno.test("FileLock accepts an unreadable owner and throws when no file can be created", () =>
  withDirectory((directory) => {
    const path = `${directory}/x.lock`;
    const first = FileLock.tryAcquire(path);
    Deno.writeTextFileSync(path, "nonsense");
    const second = FileLock.tryAcquire(path);
    assertEquals(second.held ? undefined : second.owner, {});
    if (first.held) first.lock.release();
    assertThrows(() => FileLock.tryAcquire(`${directory}/none/x.lock`), Deno.errors.NotFound);
  }));

Deno.test("mapTexts maps every text and keeps names, other values and its argument unchanged", () => {
  const value = { secret: "a secret", list: ["secret", 1, null, { deep: "secret" }], not: true };
  const before = structuredClone(value);
  assertEquals(mapTexts(value, (text) => text.replaceAll("secret", "*")), {
    secret: "a *",
    list: ["*", 1, null, { deep: "*" }],
    not: true,
  });
  assertEquals(value, before);
});

Deno.test("mapTexts returns the same object when no text changes", () => {
  const value = { a: "x", b: [{ c: "y" }] };
  assert(mapTexts(value, (text) => text) === value);
});

Deno.test("findProgram ignores directories that others can write, also behind links", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using temp = await makeTempDir();
  const at = (name: string) => `${temp.path}/${name}`;
  for (const directory of ["ws/bin", "usr", "links", "other"]) {
    await Deno.mkdir(at(directory), { recursive: true });
  }
  for (const path of ["ws/bin/tool", "usr/tool", "other/tool"]) await Deno.writeTextFile(at(path), "");
  await Deno.symlink(at("ws/bin"), at("alias"));
  await Deno.symlink(at("ws/bin/tool"), at("links/tool"));
  await Deno.mkdir(at("usr/directory"));
  const find = (name: string, directories: readonly string[], ...untrusted: string[]) =>
    findProgram(
      name,
      directories.map((directory) => directory.startsWith(".") ? directory : at(directory)).join(":"),
      untrusted,
    );
  assertEquals(find("tool", ["ws/bin", "usr"], at("ws")), at("usr/tool"));
  assertEquals(find("tool", ["alias", "links", "usr"], at("ws")), at("usr/tool"));
  assertEquals(find("tool", ["usr", "other"], at("alias"), at("usr")), at("other/tool"));
  assertEquals(find("tool", ["links"], at("ws")), undefined);
  assertEquals(find("tool", ["./usr", ".", "other"], at("ws")), at("other/tool"));
  assertEquals(find("directory", ["usr"], at("ws")), undefined);
  assertEquals(find("tool", ["ws/bin"]), at("ws/bin/tool"));
  assertEquals(find("tool", ["usr"], "/"), undefined);
});

Deno.test("nearNames sorts by similarity and omits unrelated names", () => {
  const known = ["read_file", "write_file", "grep", "glob", "bash"];
  assertEquals(suggestNames("readfile", known), ["read_file"]);
  assertEquals(suggestNames("gerp", known), ["grep"]);
  assertEquals(suggestNames("READ_FILE", known)[0], "read_file");
  assertEquals(suggestNames("file", known, 2), ["read_file", "write_file"]);
  assertEquals(suggestNames("kubernetes", known), []);
});

Deno.test("unlessAborted resolves and rejects like its promise", async () => {
  assertEquals(await unlessAborted(Promise.resolve(1), undefined), 1);
  const failed = Promise.reject(new Error("no"));
  await assertRejects(() => unlessAborted(failed, new AbortController().signal), Error, "no");
});

Deno.test("unlessAborted rejects with the abort reason and ignores a later failure", async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  const controller = new AbortController();
  const waiting = unlessAborted(promise, controller.signal);
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  await assertRejects(() => unlessAborted(promise, controller.signal), Error, "enough");
  await assertRejects(() => unlessAborted(Promise.resolve(1), controller.signal), Error, "enough");
  reject(new Error("late"));
  await new Promise((resolve) => setTimeout(resolve));
});

Deno.test("userText omits text before the user's text", () => {
  assertEquals(userText("just this"), "just this");
  const blocks = '<file path="a.ts">\nlet a;\n</file>\n\n<stdin>\npiped\n</stdin>\n\n';
  assertEquals(userText(`${blocks}look at @a.ts\n\nand say why`), "look at @a.ts\n\nand say why");
});

Deno.test("attachments lists the attachments before the user's text, and nothing inside it", () => {
  const before = '<file path="a.ts" lines="1-2">\nx\n</file>\n\n<dir path="src">\n</dir>\n\n' +
    "<stdin>\n<file>\n</stdin>\n\n";
  assertEquals(attachments(`${before}explain`), ["a.ts:1-2", "src", "standard input"]);
  const plan = '<plan by="deep/deep-1">\n1. x\n</plan>\n\n';
  assertEquals([attachments(`${before}${plan}go`).at(-1), userText(`${plan}go`)], [
    "plan of deep/deep-1",
    "go",
  ]);
  assertEquals(attachments('see <file path="b"> </file>\n\n'), []);
  assertEquals(attachments(""), []);
});

/** Tokens are joined from parts, so that no scanner reports this file as a leak. */
const body = (length: number) => "aB3dE5gH7jK9".repeat(10).slice(0, length);

Deno.test("createRedactor removes known values in every spelling", () => {
  const redact = createRedactor(["p@ss/word+1", "short", "contains p@ss/word+1 itself"]);
  assertEquals(redact("key=p@ss/word+1."), "key=[redacted].");
  assertEquals(redact(`q=${encodeURIComponent("p@ss/word+1")}`), "q=[redacted]");
  assertEquals(
    redact(`data: ${btoa("p@ss/word+1")}`),
    "data: [redacted]" + "=".repeat(btoa("p@ss/word+1").split("=").length - 1),
  );
  assertEquals(redact("x contains p@ss/word+1 itself y"), "x [redacted] y");
  assertEquals(redact("short stays"), "short stays");
  assertEquals(createRedactor(['quo"ted\\value'])(JSON.stringify('quo"ted\\value')), '"[redacted]"');
});

Deno.test("createRedactor removes known values at any offset of encoded data", () => {
  const key = "Zx9-very+sécret/key-0123456789";
  const redact = createRedactor([key, "another-key-of-the-user"]);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const gone = (text: string, encoded: string) => {
    const left = redact(text);
    assert(left.includes("[redacted]"), text);
    // What is left is less than a character of the value on either side.
    for (let at = 0; at + 12 <= encoded.length; at++) {
      assert(!left.includes(encoded.slice(at, at + 12)), left);
    }
  };
  for (const offset of [0, 1, 2, 3, 4, 5]) {
    for (const tail of ["", "y", "yy", "yyy"]) {
      const whole = bytes("x".repeat(offset) + key + tail);
      const inner = bytes(key).toBase64().slice(0, -4);
      gone(`data ${whole.toBase64()} end`, inner);
      gone(`data ${whole.toBase64({ alphabet: "base64url", omitPadding: true })} end`, inner);
    }
  }
  const hex = bytes(key).toHex();
  gone(`6161${hex}0a`, hex);
  gone(`6161${hex.toUpperCase()}0A`, hex.toUpperCase());
  const url = encodeURIComponent(key);
  assertEquals(redact(`?q=${url}&r`), "?q=[redacted]&r");
  assertEquals(redact(`?q=${url.replace(/%../g, (code) => code.toLowerCase())}&r`), "?q=[redacted]&r");
  for (const width of [64, 76]) {
    for (let before = 0; before < 120; before += 7) {
      const encoded = bytes("a".repeat(before) + key + "b".repeat(60)).toBase64();
      for (const end of ["\n", "\r\n"]) {
        const text = encoded.replace(new RegExp(`.{${width}}`, "g"), (line) => line + end);
        const left = redact(text).replace(/[\r\n]/g, "");
        assert(left.includes("[redacted]") && !left.includes(bytes(key).toBase64().slice(4, 24)), text);
      }
    }
  }
});

Deno.test("createRedactor keeps encoded data without a secret unchanged", () => {
  const redact = createRedactor(["Zx9-very+secret/key-0123456789", "p@ssword"]);
  const data = new Uint8Array(300_000).map((_, at) => (at * 7919) >> 3);
  const lines = data.toBase64().replace(/.{76}/g, "$&\n");
  const texts = [
    data.toBase64(),
    lines,
    data.toHex(),
    "a/b-c_d+e".repeat(3000),
    "https://example.com/".repeat(99),
  ];
  for (const text of texts) assert(redact(text) === text);
});

Deno.test("createRedactor removes common token formats", () => {
  const redact = createRedactor([]);
  const tokens = [
    `sk-${body(40)}`,
    `sk-proj-${body(20)}_${body(30)}`,
    `sk-ant-api03-${body(40)}-xy`,
    `sk_live_${body(24)}`,
    `rk_test_${body(24)}`,
    `ghp_${body(36)}`,
    `gho_${body(36)}`,
    `github_pat_${body(60)}`,
    `glpat-${body(20)}`,
    `npm_${body(36)}`,
    `pypi-${body(60)}`,
    `hf_${body(34)}`,
    `xoxb-${"1234567890-"}${body(20)}`,
    `AIza${body(35)}`,
    "AKIA" + "ABCDEFGHIJKLMNO1",
    `eyJ${body(20)}.eyJ${body(30)}.${body(40)}`,
  ];
  for (const token of tokens) {
    assertEquals(redact(`a "${token}" b`), 'a "[redacted]" b', token);
    assertEquals(redact(`${token}\n`), "[redacted]\n", token);
  }
});

Deno.test("createRedactor removes private keys, whole or truncated", () => {
  const redact = createRedactor([]);
  const [begin, end] = ["-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"];
  assertEquals(redact(`x\n${begin}\nMIIE\nabc=\n${end}\ny`), "x\n[redacted]\ny");
  assertEquals(redact(`${begin}\nMIIE`), "[redacted]");
  assertEquals(redact("-----BEGIN PUBLIC KEY-----\nMIIE"), "-----BEGIN PUBLIC KEY-----\nMIIE");
});

Deno.test("createRedactor keeps the names of headers and removes their values", () => {
  const redact = createRedactor([]);
  assertEquals(redact("Authorization: Bearer abc.def-123"), "Authorization: Bearer [redacted]");
  assertEquals(redact("authorization: Basic dXNlcjpwYXNz"), "authorization: Basic [redacted]");
  assertEquals(redact('{"Authorization":"token 0123456789"}'), '{"Authorization":"token [redacted]"}');
  assertEquals(redact("Proxy-Authorization = Digest abcdef123"), "Proxy-Authorization = Digest [redacted]");
  assertEquals(redact("-H 'X-Api-Key: 0123456789abc'"), "-H 'X-Api-Key: [redacted]'");
  const known = createRedactor(["my-known-secret"]);
  assertEquals(known("Authorization: Bearer my-known-secret"), "Authorization: Bearer [redacted]");
});

Deno.test("createRedactor keeps ordinary text unchanged", () => {
  const redact = createRedactor(["0123456789abcdef-key"]);
  const texts = [
    "task-runner-with-a-very-long-name-that-has-no-digits",
    "sk-learn and sk_buff and risk-assessment-procedures-of-the-house",
    "commit 4f0c1d2e3b4a5968778695a4b3c2d1e0f9a8b7c6",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "550e8400-e29b-41d4-a716-446655440000",
    "export const authorization = true;",
    "the authorization of users is checked",
    "authorization: none",
    "const eyJ = 1; eyJhb",
    "AKIA is a prefix",
    "npm_config_registry",
    "ghp_short",
    "disk-usage-2024-01-01-report-of-all-the-nodes",
    "https://example.com/sk-SK/dokumenty/prirucka-pre-pouzivatelov",
    "xoxo-",
    "import hf_hub_download",
    "pk_table_column_name_of_the_relation_in_database",
    "mask-rcnn-resnet50-fpn",
    "PRIVATE KEY handling",
    "desk-lamp_01",
    "sk-SK locale",
  ];
  for (const text of texts) assertEquals(redact(text), text);
});

Deno.test("createRedactor returns the same string quickly when nothing is secret", () => {
  const redact = createRedactor(["0123456789abcdef-key", "another-secret-value"]);
  const big = "The quick brown fox jumps over the lazy dog 12345; task-list sk- eyJ authorization\n".repeat(
    20_000,
  );
  assertEquals(redact(big) === big, true);
  const tricky = `${"sk-".repeat(50_000)} ${"a-".repeat(50_000)} ${"sk-a_".repeat(20_000)} ${
    "eyJ".repeat(50_000)
  }`;
  const start = performance.now();
  redact(tricky);
  // Generous: what is looked for is quadratic behaviour, which would take minutes.
  assert(performance.now() - start < 5_000);
});

Deno.test("a word or a locale is never redacted, and a random key is", () => {
  const ordinary = [
    "production",
    "Staging",
    "PRODUCTION",
    "placeholder",
    "en_US.UTF-8",
    "de_DE@euro",
    "C.UTF-8",
  ];
  const redact = createRedactor([...ordinary, "correct-horse", "hunter2hunter2"]);
  for (const text of ordinary) assertEquals([redact(text), isOrdinaryText(text)], [text, true]);
  assertEquals(redact("correct-horse and hunter2hunter2"), "[redacted] and [redacted]");
});

Deno.test("looksLikeSecret recognizes random text and no ordinary settings", () => {
  for (const secret of [`ghp_${body(36)}`, body(20), "0f3a9c1b7e5d2a8f4c6b", "x-q7Xk29fLmZ81pRt4Vb"]) {
    assert(looksLikeSecret(secret), secret);
  }
  const settings = [
    "production",
    "/srv/projects/shop-2024/src",
    "https://api.example.com/v2/projects/12345678901234567890",
    "eu-central-1",
    "postgres:16.2-alpine",
    "2024-11-23T10:00:00Z",
    "20241123T100000Z",
    "MyCompany-Project-2024-EU1",
    "myProject2024Backend",
    "--max-old-space-size=4096",
  ];
  assertEquals(settings.filter(looksLikeSecret), []);
});

Deno.test("a redactor removes the beginning of a value where a text was cut in the middle of it", () => {
  const redact = createRedactor(["plum-9-orchard-77-lantern"]);
  assertEquals(redact("curl -H plum-9-orchard-7…"), "curl -H [redacted]…");
  // Shorter beginnings are ordinary text, and so is one without a cut.
  assertEquals(redact("a plum-9…"), "a plum-9…");
  assertEquals(redact("a plum-9-orch and more"), "a plum-9-orch and more");
});
