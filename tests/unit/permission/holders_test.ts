import { assertEquals } from "../../support/assert.ts";
import { bash, call, scene } from "./scene.ts";

const signal = new AbortController().signal;

async function workspace(): Promise<{ readonly ws: string } & AsyncDisposable> {
  const ws = await Deno.realPath(await Deno.makeTempDir());
  for (const name of ["sub/docs", "prep/docs", "src"]) await Deno.mkdir(`${ws}/${name}`, { recursive: true });
  for (const name of ["sub/docs/x.md", "prep/docs/x.md", "a.txt", "sub/b.txt"]) {
    await Deno.writeTextFile(`${ws}/${name}`, "");
  }
  return { ws, [Symbol.asyncDispose]: () => Deno.remove(ws, { recursive: true }) };
}

const MOVES = [
  "mv sub s2",
  "mv -t s2 sub",
  "cd sub && mv docs d2",
  "git mv sub s2",
  "cp -r prep/. sub/",
  "cp -a prep/. sub",
  "cp -RT prep sub",
  "cp -r prep/* sub",
  "mv prep/* sub",
  "rsync -a prep/ sub/",
  "rsync -a --delete prep/ .",
  "rm -rf sub",
  "find sub -delete",
  "tar xf x.tar -C sub",
  "unzip x.zip -d sub",
  "git checkout other -- sub",
  "git restore sub",
  "chmod -R 000 sub",
];
const HARMLESS = [
  "cp a.txt sub/",
  "mv a.txt sub/",
  "cp -r src sub",
  "cp -r prep s3",
  "cp -r sub /tmp/copy",
  "touch sub/new",
  "mkdir -p sub",
  "rm sub/b.txt",
  "sed -i s/a/b/ sub/b.txt",
  "git restore src",
  "find . -name '*.pyc' -delete",
];

Deno.test("what an Edit rule names cannot be reached by moving or replacing a directory above it", async () => {
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

Deno.test("a rule with a wildcard above its file keeps directories, and lets ordinary files pass", async () => {
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
