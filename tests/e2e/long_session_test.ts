import { LONG_MESSAGES, longLog } from "../support/long_session.ts";
import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals } from "../support/assert.ts";

Deno.test({
  name: "resuming 10,000 messages sends all of them with at most 60 MB more memory than a new session",
  ignore: Deno.build.os !== "linux",
  async fn() {
    let pid = 0;
    const peaks: number[] = [];
    await using server = startModelServer([], {
      check: { prefix: false },
      fallback: async () => {
        const status = await Deno.readTextFile(`/proc/${pid}/status`);
        peaks.push(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
        return { text: "ok" };
      },
    });
    await using world = await makeWorld(mockConfig(server.url));
    const run = async (...args: string[]) => {
      const child = await world.spawn(["run", ...args]);
      pid = child.pid;
      assertEquals((await finished(child)).code, 0);
    };
    await run("begin");
    const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    await Deno.writeTextFile(session.path, longLog(await Deno.readTextFile(session.path)));
    await run("-c", "go on");
    assertEquals(server.requests[1]?.json.messages.length, 4 + LONG_MESSAGES + 1);
    const [fresh = 0, resumed = Infinity] = peaks;
    assert(resumed - fresh <= 60, `${Math.round(resumed - fresh)} MB more than the ${Math.round(fresh)} MB`);
  },
});
