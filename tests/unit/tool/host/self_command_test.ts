import { loadProcessHost } from "../../../../src/tool/mod.ts";
import { assertEquals, assertMatch } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const { selfCommand } = await loadProcessHost();

Deno.test("selfCommand starts a bundled program again with its role and only the given permissions", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(
    `${dir.path}/program.js`,
    `const write = Deno.permissions.querySync({ name: "write" }).state;
     await Deno.stdout.write(new TextEncoder().encode(JSON.stringify([Deno.args, write])));`,
  );
  const { command, args, env } = selfCommand({
    role: "some",
    module: `file://${dir.path}/program.js`,
    sourceEntry: new URL("file:///unused.ts"),
    flags: ["--allow-read"],
  });
  const { stdout } = await new Deno.Command(command, { args: [...args], env: { ...env }, clearEnv: true })
    .output();
  assertEquals(new TextDecoder().decode(stdout), '[["--worker=some"],"prompt"]');
});

Deno.test({
  name: "selfCommand lets the kernel end a process that nobody is left to end",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using dir = await makeTempDir();
    await Deno.writeTextFile(`${dir.path}/loop.js`, "while (true);");
    const { command, args, env } = selfCommand({
      role: "some",
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
