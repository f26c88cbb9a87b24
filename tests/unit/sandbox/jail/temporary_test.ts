/** Homes, programs and projects below /tmp, which is private in the jail. */
import { neededBelowTemporary } from "../../../../src/sandbox/mounts/mounts.ts";
import { assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { sandboxDirs } from "../support.ts";

async function temporary(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir({ dir: "/tmp" }));
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("neededBelowTemporary returns paths inside a temporary directory, not the directory itself", () =>
  temporary(async (base) => {
    for (const name of ["home/bin", "tools"]) await Deno.mkdir(`${base}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${base}/deno`, "");
    const paths = (userHome: string, host: Parameters<typeof neededBelowTemporary>[1]) =>
      neededBelowTemporary({ userHome }, host).map(({ path, directory }) => directory ? `${path}/` : path);
    const searchPath = ["/tmp", "", ".", "/usr/bin", `${base}/home/bin`, `${base}/tools`, `${base}/missing`];
    assertEquals(paths(`${base}/home`, { searchPath, executable: `${base}/deno` }), [
      `${base}/home/`,
      `${base}/tools/`,
      `${base}/deno`,
    ]);
    assertEquals(paths("/tmp", { searchPath: ["/tmp/"], executable: "/usr/bin/env" }), []);
  }));

Deno.test({
  ...jailed("a home, programs and a project below /tmp are visible, and only the project is writable"),
  fn: () =>
    temporary(async (base) => {
      await using g = await sandboxDirs();
      const [home, work, bin] = [`${base}/home`, `${base}/home/work`, `${base}/bin`];
      for (const path of [`${work}/.git/hooks`, bin, `${home}/.reasonix`]) {
        await Deno.mkdir(path, { recursive: true });
      }
      for (const file of [`${home}/.gitconfig`, `${home}/secret`, `${base}/other`, `${work}/.git/config`]) {
        await Deno.writeTextFile(file, "real\n");
      }
      await Deno.writeTextFile(`${bin}/tool`, "#!/bin/sh\necho tool\n", { mode: 0o755 });
      using _socket = Deno.listen({ transport: "unix", path: `${home}/agent.sock` });
      const jail = await sandboxJail(g, {
        roots: [work],
        home: `${home}/.reasonix`,
        userHome: home,
        forbidRead: [`${home}/secret`],
        environment: { env: { PATH: `/tmp:${bin}:/usr/bin:/bin`, HOME: home } },
      });
      const seen = `cat ~/.gitconfig; tool; cat ~/secret ${base}/other; [ -S ~/agent.sock ] && echo socket`;
      assertEquals((await sh(jail, work, seen)).stdout, "real\ntool\n");
      assertMatch((await sh(jail, work, `echo x >> ${bin}/tool`)).stderr, /Read-only file system/);
      assertMatch((await sh(jail, work, "echo x > ~/new")).stderr, /Read-only file system/);
      assertEquals((await sh(jail, work, "echo fine > new")).code, 0);
      // What is above a protected file stays where it is, though the home around it is only shown.
      await sh(jail, work, "mv .git .git2; mkdir -p .git && echo pwned > .git/config");
      assertEquals(await Deno.readTextFile(`${work}/.git/config`), "real\n");
      assertMatch((await sh(jail.readOnly(), work, "cat ~/.gitconfig; echo x > new")).stderr, /Read-only/);
      const wide = await sandboxJail(g, { roots: [home], userHome: home });
      assertEquals((await sh(wide, home, "echo mine > new")).code, 0);
      assertEquals(await Deno.readTextFile(`${home}/new`), "mine\n");
      await assertRejects(() => Deno.stat(`${work}/.git2`), Deno.errors.NotFound);
    }),
});
