import { ReasonixError } from "../../../src/core/mod.ts";
import { FactStore, openingMemory } from "../../../src/memory/store.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

async function scene() {
  const dir = await makeTempDir();
  let now = new Date("2026-03-01T10:00:00Z");
  const paths = { home: `${dir.path}/h`, project: `${dir.path}/h/projects/p` };
  return {
    paths,
    store: new FactStore({
      ...paths,
      now: () => now,
      redact: (text) => text.replaceAll("sk-123", "[secret]"),
    }),
    later: () => now = new Date("2026-03-05T10:00:00Z"),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

const fact = (name: string, text: string, more: Record<string, unknown> = {}) => ({
  name,
  description: `About ${name}`,
  text,
  ...more,
});

Deno.test("remember writes a private Markdown file with frontmatter", async () => {
  await using at = await scene();
  const saved = await at.store.remember(
    fact("Test Command", "Run `deno task test`: it takes a minute. Key sk-123"),
  );
  assertEquals(saved, {
    name: "test-command",
    path: `${at.paths.project}/memory/test-command.md`,
    updated: false,
  });
  assertEquals(
    await Deno.readTextFile(saved.path),
    "---\nname: test-command\ndescription: About Test Command\nkind: project\ncreated: 2026-03-01\n" +
      "updated: 2026-03-01\n---\n\nRun `deno task test`: it takes a minute. Key [secret]\n",
  );
  assertEquals(((await Deno.stat(saved.path)).mode ?? 0) & 0o777, 0o600);
});

Deno.test("remember updates a fact by name and keeps where and when it was created", async () => {
  await using at = await scene();
  await at.store.remember(fact("style", "tabs", { scope: "global", pinned: true }));
  at.later();
  const again = await at.store.remember(fact("style", "blanks: two of them"));
  assertEquals([again.updated, again.path], [true, `${at.paths.home}/memory/style.md`]);
  const { created: since, updated, text, pinned, scope } = await at.store.read("style");
  assertEquals([since, updated, text, pinned, scope], [
    "2026-03-01",
    "2026-03-05",
    "blanks: two of them",
    true,
    "global",
  ]);
});

Deno.test("remember stores facts about the user for all projects and rejects invalid ones", async () => {
  await using at = await scene();
  const { path } = await at.store.remember(fact("name", "Ada", { kind: "user" }));
  assertEquals(path, `${at.paths.home}/memory/name.md`);
  for (const bad of [fact("../..", "x"), fact("empty", " "), fact("long", "x".repeat(20_000))]) {
    await assertRejects(() => at.store.remember(bad), ReasonixError, "Cannot save the fact");
  }
  const escape = await at.store.remember(fact("../../etc/passwd", "x"));
  assertEquals(escape.path, `${at.paths.project}/memory/etc-passwd.md`);
});

Deno.test("forget archives the file and removes the fact from search and lists", async () => {
  await using at = await scene();
  const { path } = await at.store.remember(fact("port", "The server listens on 8080"));
  const content = await Deno.readTextFile(path);
  const { archived } = await at.store.forget("port");
  assertEquals(await Deno.readTextFile(archived), content);
  assertEquals([await at.store.list(), await at.store.search("server")], [[], []]);
  assertEquals([...Deno.readDirSync(`${at.paths.project}/memory/archive`)].map(({ name }) => name), [
    archived.replace(/.*\//, ""),
  ]);
  await assertRejects(() => at.store.forget("port"), ReasonixError, "there is no such fact");
});

Deno.test("a name in both scopes requires a scope", async () => {
  await using at = await scene();
  await at.store.remember(fact("style", "here", { scope: "project" }));
  await at.store.remember(fact("style", "everywhere", { scope: "global" }));
  const error = await assertRejects(() => at.store.read("style"), ReasonixError, 'Cannot choose "style"');
  assertStringIncludes(error.remedy ?? "", "scope");
  assertEquals((await at.store.read("style", "global")).text, "everywhere");
  const missing = await assertRejects(() => at.store.read("stlye"), ReasonixError);
  assertStringIncludes(missing.remedy ?? "", "style");
});

Deno.test("search ranks by rare words, supports CJK, and drops hits with common words only", async () => {
  await using at = await scene();
  for (let n = 0; n < 12; n++) {
    await at.store.remember(fact(`note-${n}`, `The project has a file number ${n}`));
  }
  await at.store.remember(fact("database", "The project uses PostgreSQL on port 5433 in the project file"));
  await at.store.remember(fact("deploy", "部署到生产环境之前，先运行全部测试。"));
  const found = await at.store.search("which port has the postgresql project");
  assertEquals(found.map((hit) => hit.name), ["database"]);
  assertStringIncludes(found[0]?.snippet ?? "", "5433");
  assertEquals((await at.store.search("生产环境")).map((hit) => hit.name), ["deploy"]);
  assertEquals(await at.store.search("zebra"), []);
  assertEquals((await at.store.search("file number", 3)).length, 3);
});

Deno.test("files written by hand are facts, and damaged ones are skipped", async () => {
  await using at = await scene();
  const directory = `${at.paths.home}/memory`;
  await Deno.mkdir(`${directory}/sub.md`, { recursive: true });
  await Deno.writeTextFile(`${directory}/My Note.md`, "# Prefers short answers\nNo filler.");
  await Deno.writeTextFile(`${directory}/broken.md`, "---\nname: [\npinned: true");
  await Deno.writeFile(`${directory}/bytes.md`, new Uint8Array([0xff, 0, 0xfe]));
  const names = (await at.store.list()).map((entry) => entry.name);
  assertEquals(names.filter((name) => name !== "bytes"), ["My Note", "broken"]);
  const read = await at.store.read("My Note");
  assertEquals([read.description, read.kind], ["Prefers short answers", "user"]);
});

Deno.test("openingMemory lists the pinned facts, counts the rest and is deterministic", async () => {
  await using at = await scene();
  assertEquals(await openingMemory(at.paths), undefined);
  await at.store.remember(fact("plain", "x"));
  assertEquals(
    await openingMemory(at.paths),
    "<memory>\n1 saved; search them with the memory tool.\n</memory>",
  );
  await at.store.remember(fact("b", "x", { pinned: true }));
  await at.store.remember(fact("a", "x", { pinned: true, scope: "global" }));
  const text = await openingMemory(at.paths);
  assertEquals(
    text,
    "<memory>\nFacts saved earlier; the memory tool reads them whole:\n- a: About a\n- b: About b\n" +
      "1 more saved; search them with the memory tool.\n</memory>",
  );
  assertEquals(await openingMemory(at.paths), text);
  for (let n = 0; n < 60; n++) {
    await at.store.remember(fact(`pin-${n}`, "x", { description: "y".repeat(250), pinned: true }));
  }
  assert((await openingMemory(at.paths) ?? "").length < 5_000);
});
