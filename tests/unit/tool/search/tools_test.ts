import { textOf } from "../../../../src/core/mod.ts";
import { BUILTINS, type Tool } from "../../../../src/tool/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

function tool(name: string): Tool {
  const found = BUILTINS.find((one) => one.name === name);
  assert(found);
  return found;
}

async function write(dir: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${dir}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${dir}/${path}`, text);
  }
}

Deno.test("ls shows a tree sorted by name, and counts ignored entries", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, {
    ".gitignore": "out/\n*.log\n",
    "src/b.ts": "",
    "src/a.ts": "",
    "out/x.js": "",
    "run.log": "",
    ".env.example": "",
  });
  await Deno.symlink("src/a.ts", `${dir.path}/link`);
  const context = makeToolContext(dir.path);
  const plain = await tool("ls").execute({ depth: 2 }, context);
  assertEquals(
    plain.content,
    "./\n  .env.example\n  .gitignore\n  link -> src/a.ts\n  src/\n    a.ts\n    b.ts\n[2 ignored not shown; all shows them]",
  );
  const all = await tool("ls").execute({ all: true }, context);
  assertStringIncludes(all.content, "  out/\n  run.log");
});

Deno.test("ls continues at an offset and reports it", async () => {
  await using dir = await makeTempDir();
  await write(
    dir.path,
    Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`f${String(n).padStart(2, "0")}`, ""])),
  );
  const context = makeToolContext(dir.path);
  const first = await tool("ls").execute({ limit: 10 }, context);
  assertStringIncludes(first.content, "  f09\n[entries 1-10 of 25; continue with offset 11]");
  const last = await tool("ls").execute({ limit: 10, offset: 21 }, context);
  assertEquals(last.content, "./\n  f20\n  f21\n  f22\n  f23\n  f24");
  assertEquals(
    (await tool("ls").execute({ offset: 99 }, context)).content,
    "./\n[there are only 25 entries]",
  );
});

Deno.test("ls fails with one clear line for a file or a missing directory", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "a.txt": "x" });
  const context = makeToolContext(dir.path);
  assertEquals(
    (await tool("ls").execute({ path: "a.txt" }, context)).content,
    "error: Cannot list a.txt: it is a file; use read_file",
  );
  const missing = await tool("ls").execute({ path: "nope" }, context);
  assertEquals(missing.isError, true);
  assertStringIncludes(missing.content, "Cannot find nope");
});

Deno.test("glob sorts by age, newest first, then by name", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "a.ts": "", "sub/b.ts": "", "sub/c.ts": "", "d.js": "" });
  const at = (path: string, seconds: number) => Deno.utime(`${dir.path}/${path}`, seconds, seconds);
  await at("a.ts", 1000);
  await at("sub/b.ts", 3000);
  await at("sub/c.ts", 3000);
  const context = makeToolContext(dir.path);
  assertEquals(
    (await tool("glob").execute({ pattern: "**/*.ts" }, context)).content,
    "sub/b.ts\nsub/c.ts\na.ts",
  );
  assertEquals(
    (await tool("glob").execute({ pattern: "**/*.ts,!sub/c*" }, context)).content,
    "sub/b.ts\na.ts",
  );
  assertEquals(
    (await tool("glob").execute({ pattern: "*.ts", path: "sub" }, context)).content,
    "sub/b.ts\nsub/c.ts",
  );
  const capped = await tool("glob").execute({ pattern: "**/*.{ts,js}", limit: 1 }, context);
  assertMatch(capped.content, /^d\.js\n\[1 of 4 files, newest first; .*\]$/);
  assertEquals(capped.truncated?.reason, "matches");
});

Deno.test("glob explains that a pattern without directories searches one directory", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "sub/b.ts": "" });
  const result = await tool("glob").execute({ pattern: "*.ts" }, makeToolContext(dir.path));
  assertStringIncludes(
    result.content,
    "No files match *.ts; a pattern without / looks in one directory only, **/*.ts",
  );
});

Deno.test("search tools omit files that the path policy hides", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, {
    "ok.txt": "secret word\n",
    "private/x.txt": "secret word\n",
    "key.txt": "secret word\n",
  });
  const context = makeToolContext(dir.path, {
    paths: {
      read: (path) => Promise.resolve(path === "." ? dir.path : `${dir.path}/${path}`),
      write: () => Promise.reject(new Error("unused")),
      hidden: (path) => path.endsWith("/private") || path.endsWith("/key.txt"),
    },
  });
  assertEquals((await tool("grep").execute({ pattern: "secret" }, context)).content, "ok.txt:1:secret word");
  assertEquals(
    (await tool("grep").execute({ pattern: "(?=secret)" }, context)).content,
    "ok.txt:1:secret word",
  );
  assertEquals((await tool("glob").execute({ pattern: "**" }, context)).content, "ok.txt");
  assertEquals((await tool("ls").execute({}, context)).content, "./\n  ok.txt");
});

Deno.test("grep prints path, line and text, with context on request", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nTwo\n", "b.md": "two\n" });
  const context = makeToolContext(dir.path);
  const grep = (args: Record<string, unknown>) => tool("grep").execute(args, context);
  assertEquals((await grep({ pattern: "two" })).content, "a.txt:2:two\nb.md:1:two");
  assertEquals(
    (await grep({ pattern: "two", case_insensitive: true, context: 1, include: "*.txt" })).content,
    "a.txt-1-one\na.txt:2:two\na.txt-3-three\n--\na.txt-6-six\na.txt:7:Two",
  );
  assertEquals((await grep({ pattern: "two", output_mode: "files", exclude: "*.md" })).content, "a.txt");
  assertEquals((await grep({ pattern: "o", output_mode: "count" })).content, "a.txt:4\nb.md:1");
  assertEquals((await grep({ pattern: "three\\nfour" })).content, "a.txt:3:three\na.txt:4:four");
  assertEquals((await grep({ pattern: "nothing such" })).content, "No matches");
  assertEquals(textOf((await grep({ pattern: "two", path: "b.md" })).summary), "1 match in 1 file");
});

Deno.test("grep limits matches and long lines and reports it", async () => {
  await using dir = await makeTempDir();
  const long = "x".repeat(5000) + "needle" + "y".repeat(5000);
  await write(dir.path, { "a.txt": "hit\n".repeat(250), "long.txt": long });
  const context = makeToolContext(dir.path);
  const many = await tool("grep").execute({ pattern: "hit" }, context);
  assertEquals(many.content.split("\n").length, 101);
  assertStringIncludes(many.content, "[first 100 of 250 matches in 1 files; narrow the pattern");
  assertEquals(many.truncated?.reason, "matches");
  const wide = await tool("grep").execute({ pattern: "needle" }, context);
  assert(wide.content.length < 600);
  assertMatch(wide.content, /^long\.txt:1:…x+needley+… \[line of 10006 characters\]$/);
});

Deno.test("grep fixes braces and needless escapes and explains invalid patterns", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "a.go": 'type T interface{}\npath := "a/b"\n' });
  const context = makeToolContext(dir.path);
  const grep = (pattern: string, literal = false) => tool("grep").execute({ pattern, literal }, context);
  assertEquals((await grep("interface{}")).content, "a.go:1:type T interface{}");
  assertEquals((await grep('\\"a\\/b\\"')).content, 'a.go:2:path := "a/b"');
  assertEquals((await grep("T(?! x)")).content, "a.go:1:type T interface{}");
  assertEquals(textOf((await grep("interface{}", true)).summary), "1 match in 1 file");
  const broken = await grep("(unclosed");
  assertEquals(broken.isError, true);
  assertMatch(
    broken.content,
    /^error: Cannot use the pattern: .*; fix the regular expression or set literal$/,
  );
});

Deno.test("grep of a single binary file finds nothing in either engine", async () => {
  await using dir = await makeTempDir();
  await Deno.writeFile(`${dir.path}/data.bin`, new Uint8Array([104, 105, 10, 0, 1, 104, 105, 10]));
  const context = makeToolContext(dir.path);
  assertEquals(
    (await tool("grep").execute({ pattern: "hi", path: "data.bin" }, context)).content,
    "No matches",
  );
  assertEquals(
    (await tool("grep").execute({ pattern: "(?=hi)", path: "data.bin" }, context)).content,
    "No matches",
  );
});

Deno.test("glob accepts absolute patterns, parent directories and a directory argument", async () => {
  await using dir = await makeTempDir();
  await write(dir.path, { "src/a.ts": "", "src/b.tsx": "", "lib/c.ts": "" });
  const context = makeToolContext(dir.path);
  const glob = async (args: Record<string, unknown>) =>
    (await tool("glob").execute(args, context)).content.split("\n").sort();
  assertEquals(await glob({ pattern: `${dir.path}/src/*.{ts,tsx}` }), ["src/a.ts", "src/b.tsx"]);
  assertEquals(await glob({ pattern: `${dir.path}/**/*.ts,!${dir.path}/lib/*` }), ["src/a.ts"]);
  assertEquals(await glob({ pattern: `${dir.path}/src/a.ts` }), ["src/a.ts"]);
  assertEquals(await glob({ pattern: `${dir.path}/{src/a,lib/c}.ts` }), ["lib/c.ts", "src/a.ts"]);
  assertEquals(await glob({ pattern: `${dir.path}/src/*.ts, ${dir.path}/lib/*.ts` }), [
    "lib/c.ts",
    "src/a.ts",
  ]);
  assertEquals(await glob({ pattern: `!**/b.*,${dir.path}/src/*` }), ["src/a.ts"]);
  assertEquals(await glob({ pattern: "../lib/*", path: "src" }), ["lib/c.ts"]);
  assertEquals(await glob({ pattern: "src" }), [
    "No files match src: it is a directory; src/** matches what is in it",
  ]);
  assertEquals(await glob({ pattern: `${dir.path}/scr/*.ts` }), [
    `error: Cannot find ${dir.path}/scr; near names: ${dir.path}/src/`,
  ]);
});

Deno.test("search tools refuse a pipe without opening it", async () => {
  await using dir = await makeTempDir();
  await new Deno.Command("mkfifo", { args: [`${dir.path}/pipe`] }).output();
  const context = makeToolContext(dir.path);
  for (const name of ["grep", "glob", "ls"]) {
    const result = await tool(name).execute({ pattern: "x", path: "pipe" }, context);
    assertEquals(
      result.content,
      "error: Cannot look into pipe: it is a named pipe; name a directory or a file",
    );
  }
});
