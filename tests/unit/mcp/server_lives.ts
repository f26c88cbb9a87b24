/**
 * Full lifecycles of servers in a separate process, to find leaks. Prints the children and the number of
 * descriptors of this process before and after, and exits only when no timer and no operation is left.
 */
import { openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";

const LIVES = Deno.env.get("REASONIX_SOAK") === "full" ? 200 : 12;
const AT_ONCE = 4;

function holdings() {
  const children = [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/self/task/${name}/children`).split(" ").filter((pid) => pid !== "")
  );
  return { children, descriptors: [...Deno.readDirSync("/proc/self/fd")].length };
}

/** Starts a server, calls it, and ends it: normally, by a SIGKILL between calls, or by one in a call. */
async function life(number: number): Promise<void> {
  const era = number % 2 === 0 ? "old" : "new";
  await using mcp = await openMcp([scripted("s", { era, ...(number % 8 === 7 ? { stubborn: true } : {}) })]);
  await mcp.servers.start();
  await mcp.call("mcp__s__echo", { text: "x" });
  const pid = Number((await mcp.call("mcp__s__surroundings")).content.match(/"pid":(\d+)/)?.[1]);
  if (number % 4 === 1) Deno.kill(pid, "SIGKILL");
  if (number % 4 === 2) await mcp.call("mcp__s__die");
}

if (import.meta.main) {
  await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => life(number)));
  const before = holdings();
  for (let done = 0; done < LIVES; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => life(done + number)));
  }
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ before, after: holdings() })));
}
