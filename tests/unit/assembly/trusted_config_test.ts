import { loadTrustedConfig } from "../../../src/assembly/mod.ts";
import { assertEquals, assertRejects } from "../../support/assert.ts";

async function inProject(work: (load: Parameters<typeof loadTrustedConfig>[0]) => Promise<void>) {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-trust-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: () => undefined };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  await Deno.writeTextFile(`${paths.cwd}/reasonix.toml`, '[tools.shell]\npath = "./shell.sh"\n');
  await work(paths);
  await Deno.remove(root, { recursive: true });
}

Deno.test("loadTrustedConfig asks a person once about what a project brings, and remembers a yes", async () => {
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

Deno.test("loadTrustedConfig asks again when what was trusted has changed", async () => {
  await inProject(async (load) => {
    await loadTrustedConfig(load, { decide: () => Promise.resolve("trust") });
    await Deno.writeTextFile(`${load.cwd}/reasonix.toml`, '[tools.shell]\npath = "./other.sh"\n');
    let asked = 0;
    await loadTrustedConfig(load, { decide: () => (asked++, Promise.resolve("ignore" as const)) });
    assertEquals(asked, 1);
  });
});
