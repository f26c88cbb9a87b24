import { createJail, createWorkspace } from "../../../src/sandbox/mod.ts";
import { TrustStore } from "../../../src/trust/mod.ts";
import { createWorktree } from "../../../src/worktree/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { makeRepository } from "./support.ts";

Deno.test("file tools write only in their own worktree of the Reasonix home", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  await using mine = await createWorktree({ cwd: repo.dir, home: repo.home, id: "mine" });
  await using other = await createWorktree({ cwd: repo.dir, home: repo.home, id: "other" });
  const { cwd } = mine;
  const workspace = createWorkspace({ cwd, home: repo.home, roots: [cwd] });
  assertEquals(await workspace.write("new.txt"), `${cwd}/new.txt`);
  await Deno.symlink(other.cwd, `${cwd}/way`);
  const foreign = [
    "../../owner.json",
    "../../beginning.git/base-tree",
    "../x",
    `${other.cwd}/a.txt`,
    "way/a.txt",
    `${repo.home}/trust.json`,
    `${repo.dir}/a.txt`,
  ];
  for (const path of foreign) await assertRejects(() => workspace.write(path), Error, "Cannot write");
  // A run that does not work in it cannot write in it, either.
  const outside = createWorkspace({ cwd: repo.dir, home: repo.home, roots: [repo.dir, repo.home] });
  await assertRejects(() => outside.write(`${cwd}/a.txt`), Error, "it belongs to the state of Reasonix");
});

Deno.test("commands in the jail write only in their own worktree of the Reasonix home", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  await using mine = await createWorktree({ cwd: repo.dir, home: repo.home, id: "mine" });
  const { cwd } = mine;
  const jail = await createJail({ mode: "auto", roots: [cwd], home: repo.home, network: "none" });
  if (!jail.confined) return;
  const script = "echo x > in.txt; echo x > ../../owner.json; echo x > ../../../../trust.json; " +
    "echo x > ../../beginning.git/base-tree; git add in.txt && git -c user.name=a -c user.email=a@b commit -qm x; " +
    "echo x > $(git rev-parse --git-common-dir)/hooks/post-checkout";
  const { command, args, env } = jail.wrap(["/bin/sh", "-c", script], { cwd });
  const record = await Deno.readTextFile(`${repo.home}/worktrees/mine/owner.json`);
  await new Deno.Command(command, { args: [...args], env, clearEnv: true, cwd, stdin: "null" }).output();
  assertEquals(await Deno.readTextFile(`${cwd}/in.txt`), "x\n");
  assertEquals(await Deno.readTextFile(`${repo.home}/worktrees/mine/owner.json`), record);
  await assertRejects(() => Deno.stat(`${repo.home}/trust.json`));
  await assertRejects(() => Deno.stat(`${repo.dir}/.git/hooks/post-checkout`));
  assertEquals((await mine.diff()).files, ["in.txt"]);
});

Deno.test("trust in project content applies in its worktree while the content is equal", async () => {
  await using repo = await makeRepository({ "server.js": "1\n" });
  const item = (cwd: string) => ({
    kind: "mcp",
    name: "db",
    definition: "node",
    files: [`${cwd}/server.js`],
    place: { file: ".mcp.json" },
  });
  const parent = new TrustStore({ home: repo.home, project: repo.dir });
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "trusting" });
  const inTree = () => new TrustStore({ home: repo.home, project: tree.cwd }).inspect([item(tree.cwd)]);
  assertEquals((await inTree()).trusted.length, 0);
  await parent.trust([item(repo.dir)]);
  assertEquals((await inTree()).trusted.length, 1);
  await Deno.writeTextFile(`${tree.cwd}/server.js`, "evil\n");
  assertEquals((await inTree()).trusted.length, 0);
  // A directory that only looks like a work tree of the home has no parent.
  const fake = `${repo.home}/worktrees/fake/tree/x`;
  await Deno.mkdir(fake, { recursive: true });
  await Deno.writeTextFile(`${fake}/server.js`, "1\n");
  const store = new TrustStore({ home: repo.home, project: fake });
  assert((await store.inspect([item(fake)])).untrusted.length === 1);
});
