import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { assertEquals, assertRejects } from "../../support/assert.ts";

async function inProject(work: (load: Parameters<typeof loadTrustedConfig>[0]) => Promise<void>) {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-trust-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: () => undefined };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  await Deno.writeTextFile(`${paths.cwd}/reasonix.toml`, '[tools.shell]\npath = "./shell.sh"\n');
  await work(paths);
  await Deno.remove(root, { recursive: true });
}

Deno.test("loadTrustedConfig prompts once for project content and remembers approval", async () => {
  await inProject(async (load) => {
    await assertRejects(() => loadTrustedConfig(load, {}));
    const asked: string[] = [];
    const decide = (answer: "trust" | "ignore") => (items: readonly { readonly kind: string }[]) => {
      asked.push(...items.map(({ kind }) => kind));
      return Promise.resolve(answer);
    };
    const ignored = await loadTrustedConfig(load, { decide: decide("ignore") });
    assertEquals(ignored.config.tools.shell.path, undefined);
    const trusted = await loadTrustedConfig(load, { decide: decide("trust") });
    assertEquals(trusted.config.tools.shell.path, "./shell.sh");
    const again = await loadTrustedConfig(load, { decide: decide("ignore") });
    assertEquals(again.config.tools.shell.path, "./shell.sh");
    assertEquals(asked, ["shell", "shell"]);
  });
});

Deno.test("loadTrustedConfig prompts again when trusted content has changed", async () => {
  await inProject(async (load) => {
    await loadTrustedConfig(load, { decide: () => Promise.resolve("trust") });
    await Deno.writeTextFile(`${load.cwd}/reasonix.toml`, '[tools.shell]\npath = "./other.sh"\n');
    let asked = 0;
    await loadTrustedConfig(load, { decide: () => (asked++, Promise.resolve("ignore" as const)) });
    assertEquals(asked, 1);
  });
});

for (
  const [server, file] of [
    ['command = "sh"\nargs = ["tools/run.sh"]', "tools/run.sh"],
    ['command = "./tools/../tools/run.sh"', "tools/run.sh"],
    ['command = "sh"\nargs = ["-c", "exec ./tools/run.sh --fast"]', "tools/run.sh"],
    ['command = "./run.sh"\ncwd = "tools"', "tools/run.sh"],
    ['command = "sh"\nargs = ["${SCRIPT:-tools/run.sh}"]', "tools/run.sh"],
    ['command = "node"\nenv = { NODE_OPTIONS = "--require=./.hidden/run.js" }', ".hidden/run.js"],
    ['type = "http"\nurl = "https://x.example"\nheaders_helper = "sh tools/run.sh; true"', "tools/run.sh"],
  ] as const
) {
  Deno.test(`trust in a server with ${server.replaceAll("\n", ", ")} covers its file, which appears and changes`, async () => {
    await inProject(async (load) => {
      await Deno.writeTextFile(`${load.cwd}/reasonix.toml`, `[[plugins]]\nname = "s"\n${server}\n`);
      const waits = async () => (await loadTrustedConfig(load, { ignoreUntrusted: true })).needsTrust.length;
      const trust = () => loadTrustedConfig(load, { decide: () => Promise.resolve("trust") });
      await trust();
      assertEquals(await waits(), 0);
      await Deno.mkdir(`${load.cwd}/${file.split("/")[0]}`);
      await Deno.writeTextFile(`${load.cwd}/${file}`, "one");
      assertEquals(await waits(), 1, "it has appeared");
      await trust();
      assertEquals(await waits(), 0);
      await Deno.writeTextFile(`${load.cwd}/${file}`, "two");
      assertEquals(await waits(), 1, "it has changed");
      await Deno.writeTextFile(`${load.cwd}/${file}`, "one");
      await Deno.writeTextFile(`${load.cwd}/unrelated.sh`, "three");
      assertEquals(await waits(), 0);
    });
  });
}
