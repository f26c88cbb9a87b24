import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import type { Event, Message } from "../../../src/core/mod.ts";
import type { ApprovalMode } from "../../../src/permission/mod.ts";
import { call, type Reply, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";

interface Stage {
  readonly assembly: Assembly;
  /** The prompts to the user, by the subject of the call or the question. */
  readonly asked: string[];
  readonly events: Event[];
  readonly requests: readonly (readonly Message[])[];
}

/** Runs a function with a session whose user declines everything. */
async function inSession(
  replies: readonly Reply[],
  approvalMode: ApprovalMode,
  work: (scene: Stage) => Promise<void>,
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-modes-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: (name: string) => Deno.env.get(name) };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const permissions = { ask: ["Bash(touch:*)"], deny: ["Bash(mkdir:*)"] };
  const flags = { sandbox: { bash: "off" as const }, permissions };
  const asked: string[] = [];
  const provider = scriptedProvider(replies);
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
    inMemory: true,
    provider,
    approvalMode,
    approver: {
      ask({ subject }) {
        asked.push(subject);
        return Promise.resolve({ allow: false, scope: "once" });
      },
    },
    asker: {
      ask(questions) {
        asked.push(...questions.map(({ question }) => question));
        return Promise.resolve(undefined);
      },
    },
  });
  const events: Event[] = [];
  assembly.controller.subscribe((event) => void events.push(event));
  await work({ assembly, asked, events, requests: provider.requests });
  await Deno.remove(root, { recursive: true });
}

const WRITE = "new.txt";
const RULE_ASKS = "touch asked.txt";
const RULE_DENIES = "mkdir denied";
const DESTRUCTIVE = "rm -rf /srv/nothing-here";
const QUESTION = "Which one?";

const CALLS: Reply = [
  call("1", "write_file", { path: WRITE, content: "x\n" }),
  call("2", "bash", { command: RULE_ASKS }),
  call("3", "bash", { command: RULE_DENIES }),
  call("4", "bash", { command: DESTRUCTIVE }),
  call("5", "ask", { questions: [{ question: QUESTION, options: [{ label: "a" }, { label: "b" }] }] }),
  call("6", "bash", { command: "ls -la && cat new.txt" }),
  call("7", "ls", { path: "." }),
  { type: "done", reason: "tool_calls" },
];

const TABLE: readonly [mode: ApprovalMode, asked: readonly string[]][] = [
  ["ask", [WRITE, RULE_ASKS, DESTRUCTIVE, QUESTION]],
  ["auto", [RULE_ASKS, DESTRUCTIVE, QUESTION]],
  ["yolo", [DESTRUCTIVE, QUESTION]],
];

for (const [mode, expected] of TABLE) {
  Deno.test(`approval mode ${mode} prompts only when it must`, async () => {
    await inSession([CALLS, say("done")], mode, async ({ assembly, asked, events }) => {
      await assembly.run("go");
      assertEquals([...asked].sort(), [...expected].sort());
      const blocked = events.flatMap((event) =>
        event.type === "tool.end" && event.outcome === "blocked" ? [event.callId] : []
      );
      assert(blocked.includes("3"), "what a rule denies stays denied");
    });
  });
}

Deno.test("a mode chosen before the session opens is recorded at its start, a later one immediately", async () => {
  await inSession([say("ok")], "ask", async ({ assembly, events }) => {
    await assembly.modes.setApproval("auto");
    await assembly.open();
    await assembly.modes.setApproval("ask");
    const changes = events.flatMap((event) => event.type === "mode.change" ? [event.posture] : []);
    assertEquals(changes, ["auto", "ask"]);
  });
});

Deno.test("the model is notified of the start and the end of plan mode in the next turn", async () => {
  await inSession([say("a"), say("b"), say("c"), say("d")], "ask", async ({ assembly, requests }) => {
    await assembly.run("one");
    await assembly.modes.setPermission("plan");
    await assembly.run("two");
    await assembly.run("three");
    await assembly.modes.setPermission("workspace-write");
    await assembly.run("four");
    const announced = requests.map((messages) =>
      messages.filter(({ content }) => String(content).startsWith("<mode>")).length
    );
    assertEquals(announced, [0, 1, 1, 2]);
    for (const [at, messages] of requests.slice(1).entries()) {
      assertEquals(messages.slice(0, requests[at]?.length), requests[at], "the prefix stays");
    }
    await assertRejects(() => assembly.modes.setPermission("danger-full-access"));
  });
});

Deno.test("a mode changed during a turn is reported once, with the next request", async () => {
  const switched = Promise.withResolvers<Assembly>();
  const look: Reply = [call("l", "ls", { path: "." }), { type: "done", reason: "tool_calls" }];
  const switching: Reply = async function* () {
    await (await switched.promise).modes.setPermission("read-only");
    yield* look;
  };
  await inSession([switching, look, look, say("done")], "ask", async ({ assembly, requests }) => {
    switched.resolve(assembly);
    await assembly.run("go");
    const announced = requests.map((messages) => messages.map(({ content }) => content.startsWith("<mode>")));
    assertEquals(announced.map((each) => each.lastIndexOf(true)), [-1, 4, 4, 4]);
    assertEquals(announced[3]?.filter((isMode) => isMode).length, 1);
  });
});

Deno.test("a read-only turn is not a change of mode", async () => {
  await inSession([CALLS, say("done"), say("more")], "auto", async ({ assembly, requests, events }) => {
    await assembly.run({ text: "look", readOnly: true });
    const blocked = events.flatMap((event) =>
      event.type === "tool.end" && event.outcome === "blocked" ? [event.callId] : []
    );
    assert(blocked.includes("1"), "nothing is written");
    await assembly.run("go on");
    assertEquals(requests.at(-1)?.some(({ content }) => content.startsWith("<mode>")), false);
  });
});

Deno.test("a rewind past a mode notice repeats it", async () => {
  await inSession([say("a"), say("b"), say("c")], "ask", async ({ assembly, requests }) => {
    await assembly.run("one");
    await assembly.modes.setPermission("read-only");
    await assembly.run("two");
    await assembly.rewind(1, "conversation");
    await assembly.run("three");
    const announced = requests.map((messages) =>
      messages.filter(({ content }) => content.startsWith("<mode>\nRead-only mode is on")).length
    );
    assertEquals(announced, [0, 1, 1]);
  });
});
