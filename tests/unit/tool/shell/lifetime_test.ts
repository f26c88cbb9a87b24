/** Nothing a session started outlives it, whichever way the agent goes: with a real agent-like process. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const JOBS = 100;

async function alive(mark: string): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-eo", "stat,args"] }).output();
  return new TextDecoder().decode(stdout).split("\n")
    .filter((line) =>
      !line.startsWith("Z") && /sleep /.test(line) && line.includes(mark) && !line.includes("driver.ts")
    ).length;
}

async function drive(end: (child: Deno.ChildProcess) => Promise<void>): Promise<void> {
  await using dir = await makeTempDir();
  const mark = `6${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      new URL("./driver.ts", import.meta.url).pathname,
      dir.path,
      mark,
      String(JOBS),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  assert(await alive(mark) >= JOBS);
  await end(child);
  await child.status;
  await reader.cancel();
  const deadline = Date.now() + 60_000;
  while (await alive(mark) > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assertEquals(await alive(mark), 0);
}

Deno.test("100 background jobs leave no process behind when the agent exits", async () => {
  await drive((child) => child.stdin.close());
});

Deno.test("100 background jobs leave no process behind when the agent is terminated", async () => {
  await drive(async (child) => {
    child.kill("SIGTERM");
    await child.status;
    await child.stdin.close().catch(() => {});
  });
});

Deno.test("100 background jobs leave no process behind when the agent is killed", async () => {
  await drive(async (child) => {
    child.kill("SIGKILL");
    await child.status;
    await child.stdin.close().catch(() => {});
  });
});
