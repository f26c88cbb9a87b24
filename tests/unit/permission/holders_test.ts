import { assertEquals } from "../../support/assert.ts";
import { bash, call, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./lines.txt" with { type: "text" };

const { "move or replace sub": MOVES = [], "leave sub/docs where it is": HARMLESS = [] } = readCorpus(text);

const signal = new AbortController().signal;

async function workspace(): Promise<{ readonly ws: string } & AsyncDisposable> {
  const ws = await Deno.realPath(await Deno.makeTempDir());
  for (const name of ["sub/docs", "prep/docs", "src"]) await Deno.mkdir(`${ws}/${name}`, { recursive: true });
  for (const name of ["sub/docs/x.md", "prep/docs/x.md", "a.txt", "sub/b.txt"]) {
    await Deno.writeTextFile(`${ws}/${name}`, "");
  }
  return { ws, [Symbol.asyncDispose]: () => Deno.remove(ws, { recursive: true }) };
}

Deno.test("a path of an Edit rule cannot be changed by moving or replacing its parent", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { deny: ["Edit(sub/docs/**)"] }, { onAsk: undefined });
  for (const line of MOVES) assertEquals((await gate.check(bash(line), signal)).decision, "deny", line);
  for (const line of HARMLESS) assertEquals((await gate.check(bash(line), signal)).decision, "allow", line);
  const move = async (source_path: string, destination_path: string) =>
    (await gate.check(call("move_file", { source_path, destination_path }), signal)).decision;
  assertEquals([await move("sub", "s2"), await move("prep", "sub"), await move("sub/docs", "d")], [
    "deny",
    "deny",
    "deny",
  ]);
  assertEquals([await move("a.txt", "sub/a.txt"), await move("prep", "sub/new"), await move("src", "s3")], [
    "allow",
    "allow",
    "allow",
  ]);
});

Deno.test("a rule with a parent wildcard protects directories and allows ordinary files", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { deny: ["Edit(*/docs/x.md)"] }, { onAsk: undefined });
  const check = async (line: string) => (await gate.check(bash(line), signal)).decision;
  assertEquals([await check("mv sub s2"), await check("cp -r prep sub/y")], ["deny", "deny"]);
  assertEquals([await check("mv a.txt src/"), await check("cp -r a.txt src/b.txt")], ["allow", "allow"]);
  const write = (path: string) => gate.check(call("write_file", { path, content: "" }), signal);
  assertEquals([(await write("src/new.ts")).decision, (await write("sub/docs/x.md")).decision], [
    "allow",
    "deny",
  ]);
});
