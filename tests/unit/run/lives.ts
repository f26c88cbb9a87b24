/**
 * Full lifecycles of agents in a separate process, to find leaks. Prints the resources of the process before
 * and after, and exits only when no timer and no operation is left.
 */
import { createAgent } from "../../../src/features/mod.ts";
import type { Chunk } from "../../../src/core/mod.ts";
import { call, say, scriptedProvider } from "../../support/agent_fixture.ts";

const calls = (...chunks: Chunk[]): Chunk[] => [...chunks, { type: "done", reason: "tool_calls" }];
const config = { permissions: { allow: ["Edit", "Bash"] } };

/** Lifecycles of each kind between the two counts. */
const LIVES = 3;

/** Children, descriptors and temporary directories of this process. */
function holdings() {
  const children = [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/self/task/${name}/children`).split(" ").filter((pid) => pid !== "")
  );
  const directories = [...Deno.readDirSync(Deno.env.get("TMPDIR") ?? "")].map(({ name }) => name);
  return { children, directories, descriptors: [...Deno.readDirSync("/proc/self/fd")].length };
}

/** A turn with a worker, a command in the foreground and one in the background. */
async function wholeLife(cwd: string): Promise<string> {
  const provider = scriptedProvider([
    calls(call("1", "write_file", { path: "file", content: "made\n" })),
    calls(call("2", "bash", { command: "cat file" })),
    calls(call("3", "bash", { command: "sleep 60", run_in_background: true })),
    say("ok"),
  ]);
  await using agent = await createAgent({ cwd, provider, config });
  await agent.run("go");
  return agent.controller.recorder.messages.map((message) => message.content).join("\n");
}

/** A turn whose command is still running when the agent is disposed of. */
async function cutLife(cwd: string): Promise<string> {
  const provider = scriptedProvider([calls(call("1", "bash", { command: "echo up >up; sleep 60" }))]);
  await Deno.remove(`${cwd}/up`).catch(() => {});
  const agent = await createAgent({ cwd, provider, config });
  const turn = agent.run("go");
  while (!await Deno.stat(`${cwd}/up`).then(() => true, () => false)) {
    await new Promise((go) => setTimeout(go, 20));
  }
  await agent[Symbol.asyncDispose]();
  return (await turn).reason;
}

if (import.meta.main) {
  const [cwd = ""] = Deno.args;
  // Modules that stay loaded for the whole process are there after the first lifecycles.
  const said = await wholeLife(cwd);
  await cutLife(cwd);
  const before = holdings();
  let reason = "";
  for (let life = 0; life < LIVES; life++) {
    await wholeLife(cwd);
    reason = await cutLife(cwd);
  }
  const after = holdings();
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ said, reason, before, after })));
}
