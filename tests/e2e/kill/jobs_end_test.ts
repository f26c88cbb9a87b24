/** A hundred background jobs end with the program, however it ends. */
import { assertEquals } from "../../support/assert.ts";
import { startModelServer, type Turn } from "../../support/model_server.ts";
import { gone, type Living, processesWith } from "../../support/processes.ts";
import { finished, makeWorld, mockConfig, type World } from "../../support/program.ts";

const JOBS = 100;
/** Calls of one reply. */
const AT_ONCE = 20;

/** A beat while the job, a child of its group, or a child that left the group runs. */
function command(job: number): string {
  const sleep = job % 10 > 0 ? "sleep 600" : "setsid -f sleep 600; (sleep 600 &); sleep 600";
  return job % 20 === 0 ? `while echo x >> beat-${job}; do sleep 0.1; done` : `${sleep}; true`;
}

function replies(): Turn[] {
  return Array.from({ length: JOBS / AT_ONCE }, (_, reply) => ({
    calls: Array.from({ length: AT_ONCE }, (_, at) => {
      const job = reply * AT_ONCE + at;
      const args = { command: command(job), run_in_background: true };
      return { id: `call-${job}`, name: "bash", args };
    }),
  }));
}

function beats(world: World): number {
  return [...Deno.readDirSync(world.dir)].filter(({ name }) => name.startsWith("beat-"))
    .reduce((sum, { name }) => sum + Deno.statSync(`${world.dir}/${name}`).size, 0);
}

async function ends(how: "exit" | "SIGTERM" | "SIGKILL", config = ""): Promise<void> {
  const running = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  await using server = startModelServer([...replies(), () => {
    running.resolve();
    return { text: "All are running.", before: end.promise };
  }]);
  await using world = await makeWorld(mockConfig(server.url) + config);
  const mark = world.dir.split("/").at(-2) ?? "";
  const child = await world.spawn(["run", "--output-format", "jsonl", "start them"]);
  const done = finished(child);
  await Promise.race([running.promise, done.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
  const sleeping = (all: readonly Living[]) => all.filter(({ command }) => command.startsWith("sleep 600"));
  // A job that has begun may not have started its program yet.
  const missing = async () => {
    // Each job of the nine others of ten has one, of the tenth three, but those with a beat.
    const { length } = sleeping(await processesWith(mark));
    const beat = beats(world);
    return length >= JOBS - 5 && beat > 0 ? [] : [{ length, beat }];
  };
  assertEquals(await gone(missing), [], "not all jobs run");
  if (how === "exit") end.resolve();
  else child.kill(how);
  const { code, stdout } = await done;
  assertEquals(code, { exit: 0, SIGTERM: 143, SIGKILL: 137 }[how]);
  assertEquals(stdout.match(/"type":"tool.end".*"outcome":"ok"/g)?.length, JOBS);
  const left = await gone(() => processesWith(mark));
  assertEquals(left, [], `processes are left after ${how}`);
  const beat = beats(world);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assertEquals(beats(world), beat, "a job continues");
}

Deno.test({
  name: `${JOBS} background jobs end with the program: when it exits, with SIGTERM and with SIGKILL`,
  ignore: Deno.build.os !== "linux",
  async fn() {
    // The jail ends with its parent; without a jail only the guard ends it.
    const withoutJail = ends("SIGKILL", '[sandbox]\nbash = "off"\n');
    await Promise.all([ends("exit"), ends("SIGTERM"), ends("SIGKILL"), withoutJail]);
  },
});
