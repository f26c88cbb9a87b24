import { DeniedFiles } from "../../../../src/sandbox/files/denied_files.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "../jail/jail_support.ts";
import { type SandboxDirs, sandboxTest } from "../support.ts";

const SECRET = "a-secret-of-the-user";

async function furnish(g: SandboxDirs): Promise<void> {
  for (const directory of ["sub/in", "docs/deep", "node_modules/x", "keys"]) {
    await Deno.mkdir(`${g.ws}/${directory}`, { recursive: true });
  }
  for (
    const path of [".env", "sub/.env", "sub/in/.env", "docs/deep/a.md", "keys/a.pem", "node_modules/x/.env"]
  ) {
    await Deno.writeTextFile(`${g.ws}/${path}`, SECRET);
  }
}

function found(g: SandboxDirs, globs: readonly string[]): string[] {
  return new DeniedFiles({ globs, roots: [g.ws], userHome: `${g.base}/home` }).find()
    .map(({ path }) => path.replace(`${g.ws}/`, "")).sort();
}

sandboxTest("DeniedFiles matches globs of Read rules as the rules do", async (g) => {
  await furnish(g);
  assertEquals(found(g, [".env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["**/.env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["/**/.env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["./sub/.env"]), ["sub/.env"]);
  assertEquals(found(g, ["sub/*.env"]), ["sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["docs/**"]), ["docs"]);
  assertEquals(found(g, ["*.pem", `${g.ws}/docs/deep`]), ["docs/deep", "keys/a.pem"]);
  assertEquals(found(g, ["node_modules/x/.env", "missing"]), ["node_modules/x/.env"]);
  assertEquals(found(g, ["**", "*"]), []);
});

sandboxTest("DeniedFiles notices new and deleted files", async (g) => {
  await furnish(g);
  const denied = new DeniedFiles({ globs: ["*.pem"], roots: [g.ws] });
  const names = () => denied.find().map(({ path }) => path.slice(g.ws.length + 1)).sort();
  assertEquals(names(), ["keys/a.pem"]);
  await Deno.writeTextFile(`${g.ws}/docs/deep/b.pem`, SECRET);
  assertEquals(names(), ["docs/deep/b.pem", "keys/a.pem"]);
  await Deno.rename(`${g.ws}/docs`, `${g.ws}/papers`);
  await Deno.remove(`${g.ws}/keys/a.pem`);
  assertEquals(names(), ["papers/deep/b.pem"]);
  assertEquals(denied.capped, false);
});

sandboxTest("DeniedFiles stops at its limit and reports it", async (g) => {
  for (let i = 0; i < 300; i++) await Deno.writeTextFile(`${g.ws}/${i}.pem`, "");
  const denied = new DeniedFiles({ globs: ["*.pem"], roots: [g.ws] });
  assertEquals([denied.find().length, denied.capped], [256, true]);
});

sandboxTest(
  jailed("a jailed command cannot read files that a Read rule denies, under any name"),
  async (g) => {
    await furnish(g);
    await Deno.symlink(`${g.ws}/sub/.env`, `${g.ws}/link`);
    const jail = await sandboxJail(g, { denyRead: [".env", "docs/**", "*.pem"] });
    assertStringIncludes(jail.describe().text, "5 paths are hidden (Read rules)");
    for (
      const line of [
        "cat .env sub/.env link docs/deep/a.md keys/a.pem",
        "tar cf - --exclude=node_modules . | cat",
        "grep -rh --exclude-dir=node_modules . .",
        "mv sub sub2; cat sub2/.env sub2/in/.env",
        "mv sub/in x; cat x/.env",
        "cp -r sub c; cat c/.env c/in/.env",
        "ln .env h; cat h; ln -s .env s; cat s",
        "mv .env x; cat x",
        "git init -q r; cd r; git --work-tree=.. add -f ../.env; git show :.env",
        "f=.e; cat ${f}nv; cat .e*; while read -r l; do echo $l; done < .env",
      ]
    ) {
      const { stdout, stderr } = await sh(jail, g.ws, line);
      assert(!(stdout + stderr).includes(SECRET), line);
    }
    // What is not denied works, next to it too.
    assertEquals((await sh(jail, g.ws, "echo new > keys/new && cat keys/new")).stdout, "new\n");
  },
);

sandboxTest(
  jailed("hidden and protected paths stay in place when a parent directory is moved"),
  async (g) => {
    await furnish(g);
    await Deno.mkdir(`${g.ws}/.vscode`);
    await Deno.writeTextFile(`${g.ws}/.vscode/tasks.json`, "{}");
    await Deno.mkdir(`${g.ws}/.reasonix/hooks`, { recursive: true });
    const jail = await sandboxJail(g, { forbidRead: [`${g.ws}/sub/in/.env`] });
    await sh(jail, g.ws, "mv sub sub2; mv sub/in in2");
    const { stdout } = await sh(jail, g.ws, "cat sub2/in/.env sub/in2/.env in2/.env sub/in/.env");
    assert(!stdout.includes(SECRET), stdout);
    await sh(jail, g.ws, "mv .vscode v; mkdir .vscode; echo pwned > .vscode/tasks.json");
    assertEquals(await Deno.readTextFile(`${g.ws}/.vscode/tasks.json`), "{}");
    await sh(jail, g.ws, "mv .reasonix r; mkdir -p .reasonix/hooks; echo pwned > .reasonix/hooks/x");
    assertEquals([...Deno.readDirSync(`${g.ws}/.reasonix/hooks`)], []);
  },
);
