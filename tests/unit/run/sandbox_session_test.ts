import { SandboxSession } from "../../../src/run/access/sandbox_session.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { createWorkspace } from "../../../src/sandbox/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("SandboxSession leaks nothing when it is closed while the jail is being selected", async () => {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  const paths = { cwd, home, env: () => undefined };
  const workspace = createWorkspace({ cwd, home, roots: [cwd], forbidRead: [] });
  const sessionDir = `${home}/session`;
  const jail = new SandboxSession({ paths, loaded: await loadConfig(paths), workspace, sessionDir });
  const opened = jail.open();
  await jail.close();
  await opened;
  assertEquals([...Deno.readDirSync(sessionDir)].map(({ name }) => name), []);
});
