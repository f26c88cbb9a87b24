import { loadProcessHost } from "../../../../src/tool/mod.ts";
import { VERSION } from "../../../../src/util/version.ts";
import { assertEquals, assertMatch } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const { selfCommand } = await loadProcessHost();

Deno.test("selfCommand starts a bundled program with its role and only the given permissions", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(
    `${dir.path}/program.js`,
    `const write = Deno.permissions.querySync({ name: "write" }).state;
     await Deno.stdout.write(new TextEncoder().encode(JSON.stringify([Deno.args, write])));`,
  );
  const { command, args, env } = selfCommand({
    role: "search",
    module: `file://${dir.path}/program.js`,
    sourceEntry: new URL("file:///unused.ts"),
    flags: ["--allow-read"],
  });
  const { stdout } = await new Deno.Command(command, { args: [...args], env: { ...env }, clearEnv: true })
    .output();
  assertEquals(new TextDecoder().decode(stdout), '[["--worker=search"],"prompt"]');
});

Deno.test("selfCommand starts the worker file next to a bundle only if it is of the same build", async () => {
  await using dir = await makeTempDir();
  const file = (name: string) => `${dir.path}/${name}`;
  await Deno.writeTextFile(file("program.js"), "#!/usr/bin/env deno\n// Reasonix 1.0 (abc), MIT license\n");
  const entry = () =>
    selfCommand({
      role: "search",
      module: `file://${file("program.js")}`,
      sourceEntry: new URL("file:///unused.ts"),
      flags: [],
    }).args.at(-2);
  assertEquals(entry(), `file://${file("program.js")}`);
  await Deno.writeTextFile(file("reasonix.worker.js"), "// Reasonix 1.0 (abcd), MIT license\n");
  assertEquals(entry(), `file://${file("program.js")}`);
  await Deno.writeTextFile(file("reasonix.worker.js"), "// Reasonix 1.0 (abc), MIT license\n");
  assertEquals(entry(), `file://${file("reasonix.worker.js")}`);
});

Deno.test("selfCommand starts the kept copy of its version when another one has replaced the file", async () => {
  await using dir = await makeTempDir();
  const home = Deno.env.get("REASONIX_HOME");
  Deno.env.set("REASONIX_HOME", `${dir.path}/a home`);
  try {
    const module = `file://${dir.path}/reasonix.js`;
    const entry = () =>
      selfCommand({ role: "search", module, sourceEntry: new URL("file:///unused.ts"), flags: [] }).args.at(
        -2,
      );
    const kept = `${dir.path}/a home/kept/${VERSION}`;
    await Deno.mkdir(kept, { recursive: true });
    await Deno.writeTextFile(`${dir.path}/reasonix.js`, `// Reasonix ${VERSION} (abc), MIT license\n`);
    assertEquals(entry(), module);
    await Deno.writeTextFile(`${dir.path}/reasonix.js`, `// Reasonix ${VERSION}-rc.1, MIT license\n`);
    assertEquals(entry(), module);
    await Deno.writeTextFile(`${kept}/reasonix.js`, `// Reasonix ${VERSION} (abc), MIT license\n`);
    assertEquals(entry(), `file://${dir.path}/a%20home/kept/${VERSION}/reasonix.js`);
  } finally {
    if (home === undefined) Deno.env.delete("REASONIX_HOME");
    else Deno.env.set("REASONIX_HOME", home);
  }
});

Deno.test({
  name: "selfCommand makes the kernel kill an orphaned process",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using dir = await makeTempDir();
    await Deno.writeTextFile(`${dir.path}/loop.js`, "while (true);");
    const { command, args, env } = selfCommand({
      role: "search",
      module: `file://${dir.path}/loop.js`,
      sourceEntry: new URL("file:///unused.ts"),
      flags: [],
      cpuSeconds: 1,
    });
    const end = await new Deno.Command(command, { args: [...args], env: { ...env }, clearEnv: true })
      .output();
    assertMatch(String(end.signal), /SIGXCPU|SIGKILL/);
  },
});

Deno.test("selfCommand allows a program started from a URL to read only its cached file", async () => {
  await using dir = await makeTempDir();
  const code = `const name = "./other.js";
    const other = await import(name).then(() => "imported", (error) => error.message);
    console.log(JSON.stringify([Deno.args, other, Deno.permissions.querySync({ name: "net" }).state]));`;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url }) =>
      new Response(url.endsWith("/program.js") ? code : "export {};", {
        headers: { "content-type": "text/javascript" },
      }),
  );
  const module = `http://127.0.0.1:${server.addr.port}/program.js`;
  const cache = { DENO_DIR: `${dir.path}/deno`, DENO_NO_UPDATE_CHECK: "1" };
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    new Deno.Command(Deno.execPath(), { args: [...args], env: { ...env, ...cache } }).output();
  const cached = await start(["cache", "--no-config", module], {});
  const { args, env } = selfCommand({
    role: "search",
    module,
    sourceEntry: new URL("file:///unused.ts"),
    flags: [],
  });
  const first = new TextDecoder().decode((await start(args, env)).stdout);
  await server.shutdown();
  const offline = new TextDecoder().decode((await start(args, env)).stdout);
  assertEquals([cached.code, first], [0, offline]);
  assertMatch(first, /^\[\["--worker=search"\],".*--cached-only.*","prompt"\]$/m);
});
