import { createWorkspace, processFlags, type Workspace } from "../../../src/sandbox/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { runRestricted } from "../../support/restricted.ts";
import { type Fixture, makeFixture } from "./fixture.ts";
import { SHELL_ATTACKS, TOOL_ATTACKS, type ToolAttack, toolGotThrough } from "./attacks.ts";

const ignore = Deno.build.os !== "linux";

function workspaceOf(s: Fixture): Workspace {
  return createWorkspace({
    cwd: s.g.ws,
    roots: [s.g.ws],
    forbidRead: [s.vault],
    home: s.g.home,
    userHome: s.userHome,
  });
}

/** Accesses files like the file tools: check, open, check again, and replace instead of writing in place. */
async function act(s: Fixture, attack: ToolAttack): Promise<string> {
  const workspace = workspaceOf(s);
  const path = s.fill(attack.path);
  const real = attack.access === "write" ? await workspace.write(path) : await workspace.read(path);
  await attack.meanwhile?.(s);
  if (attack.access === "list") return [...Deno.readDirSync(real)].map((entry) => entry.name).join();
  if (attack.access === "read") {
    using file = await Deno.open(real);
    await workspace.verifyOpened(file, real);
    return await new Response(file.readable).text();
  }
  const temporary = `${real}.tmp`;
  using file = await Deno.open(temporary, { createNew: true, write: true });
  try {
    await workspace.verifyOpened(file, temporary, "write");
  } catch (error) {
    await Deno.remove(temporary);
    throw error;
  }
  await file.write(new TextEncoder().encode("pwned"));
  await Deno.rename(temporary, real);
  return "";
}

/** The same accesses in a process without checks, limited only by its permissions. */
async function actUnchecked(s: Fixture, attack: ToolAttack): Promise<string> {
  const flags = processFlags({
    writable: [s.g.ws, `${s.g.home}/config.toml`],
    forbidRead: [s.vault, `${s.g.home}/.env`],
  }, () => `${s.g.home}/worker.json`);
  const path = s.fill(attack.path).replace(/^~/, s.userHome);
  const absolute = path.startsWith("/") ? path : `${s.g.ws}/${path}`;
  await attack.meanwhile?.(s);
  const module = new URL("./unchecked_tool.ts", import.meta.url);
  return String(await runRestricted(flags, module, { access: attack.access, path: absolute }));
}

Deno.test("both tables have at least 100 attempts", () => {
  assert(TOOL_ATTACKS.length + SHELL_ATTACKS.length >= 100);
  assertEquals(new Set(TOOL_ATTACKS.map((attack) => attack.name)).size, TOOL_ATTACKS.length);
});

for (const attack of TOOL_ATTACKS) {
  Deno.test(`workspace confinement alone stops: ${attack.access} by ${attack.name}`, { ignore }, async () => {
    await using s = await makeFixture();
    await attack.prepare?.(s);
    const seen = await act(s, attack).catch(() => "");
    assertEquals(await toolGotThrough(s, seen), !attack.stoppedBy.includes("confinement"), seen);
  });

  Deno.test(
    `process permissions alone do as the table says: ${attack.access} by ${attack.name}`,
    { ignore },
    async () => {
      await using s = await makeFixture();
      await attack.prepare?.(s);
      const seen = await actUnchecked(s, attack);
      assertEquals(await toolGotThrough(s, seen), !attack.stoppedBy.includes("worker"), seen);
    },
  );
}
