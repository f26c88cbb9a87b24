import type { Message } from "../../../../src/core/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type Reply, say } from "../../../support/agent_fixture.ts";
import { calling, onGoalStage, reporting, type StoppedClock } from "./goal_stage.ts";

interface Row {
  readonly name: string;
  readonly model: (request: number, clock: StoppedClock, messages: readonly Message[]) => Reply;
  readonly checks?: readonly string[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly state: string;
  readonly limit?: string;
  readonly requests: number;
  readonly turns: number;
  readonly waits: readonly number[];
}

const write = (path: string, content: string) => calling("write_file", { path, content });

/** Alternates calls and text: every second request ends a turn. */
const inTurns = (calls: (turn: number) => Reply) => (request: number) =>
  request % 2 === 0 ? calls(request / 2) : say(`said ${request}`);

const WORDINGS = ["Cannot reach the database.", "cannot reach  the DATABASE!", "Cannot reach the database…"];
const CHINESE = ["无法连接数据库。", "无法连接 数据库", "「无法连接数据库」！"];

const ROWS: readonly Row[] = [
  {
    name: "an honest model",
    model: (n) =>
      [write("done.txt", "yes\n"), reporting("complete", "written"), say("It is written.")][n] ?? say("?"),
    checks: ["test -f done.txt"],
    state: "complete",
    requests: 3,
    turns: 1,
    waits: [],
  },
  {
    name: "a model that only says ok",
    model: () => say("ok"),
    state: "limit",
    limit: "progress",
    requests: 4,
    turns: 4,
    waits: [1000, 5000, 25_000],
  },
  {
    name: "a false claim that a check finds",
    model: inTurns(() => reporting("complete", "all done")),
    checks: ["false"],
    state: "limit",
    limit: "progress",
    requests: 8,
    turns: 4,
    waits: [1000, 5000, 25_000],
  },
  {
    name: "a model that fixes a failing check",
    model: (n) =>
      [
        write("n.txt", "1\n"),
        reporting("complete", "n is written"),
        say("done"),
        write("n.txt", "2\n"),
        reporting("complete", "n is 2 now"),
        say("now it is done"),
      ][n] ?? say("?"),
    checks: ["grep -q 2 n.txt"],
    state: "complete",
    requests: 6,
    turns: 2,
    waits: [],
  },
  {
    name: "a block reported in changing words",
    model: inTurns((turn) => reporting("blocked", WORDINGS[turn] ?? "?")),
    state: "blocked",
    requests: 6,
    turns: 3,
    waits: [1000, 5000],
  },
  {
    name: "a block reported in Chinese with other punctuation",
    model: inTurns((turn) => reporting("blocked", CHINESE[turn] ?? "?")),
    state: "blocked",
    requests: 6,
    turns: 3,
    waits: [1000, 5000],
  },
  {
    name: "a different block each time",
    model: inTurns((turn) => reporting("blocked", `obstacle ${"abcdef"[turn]}`)),
    state: "limit",
    limit: "progress",
    requests: 8,
    turns: 4,
    waits: [1000, 5000, 25_000],
  },
  {
    name: "a model that alternates between two contents",
    model: inTurns((turn) => write("flag.txt", turn % 2 === 0 ? "on\n" : "off\n")),
    state: "limit",
    limit: "progress",
    // On (new), off, on (another change than the creation), then nothing that was not there before.
    requests: 12,
    turns: 6,
    waits: [5000, 25_000],
  },
  {
    name: "a slow model",
    model: (n, clock) => {
      clock.pass(40_000);
      return inTurns((turn) => write(`f${turn}.txt`, `${turn}\n`))(n);
    },
    limits: { time_limit_seconds: 100 },
    state: "limit",
    limit: "time",
    requests: 4,
    turns: 2,
    waits: [],
  },
  {
    name: "a model that always writes new files",
    model: inTurns((turn) => write(`f${turn}.txt`, `${turn}\n`)),
    limits: { max_turns: 7 },
    state: "limit",
    limit: "turns",
    requests: 14,
    turns: 7,
    waits: [],
  },
  {
    name: "a model that claims progress without calls",
    model: inTurns((turn) => reporting("progress", `step ${"abcdef"[turn]} is nearly there`)),
    state: "limit",
    limit: "progress",
    requests: 8,
    turns: 4,
    waits: [1000, 5000, 25_000],
  },
  {
    name: "a model that only reads different files",
    model: inTurns((turn) => calling("glob", { pattern: `${"abcdefghij"[turn]}*` })),
    state: "limit",
    limit: "progress",
    requests: 14,
    turns: 7,
    waits: [],
  },
  {
    name: "a model that repeats a command whose output differs only in times",
    model: inTurns((turn) => calling("bash", { command: `echo took ${turn} ms; touch x` })),
    state: "limit",
    limit: "progress",
    requests: 8,
    turns: 4,
    waits: [5000, 25_000],
  },
  {
    name: "a failing provider",
    model: (n) =>
      n === 0
        ? say("on it")
        : [{ type: "error", error: { kind: "auth", message: "no key", retryable: false } }],
    state: "stopped",
    requests: 2,
    turns: 2,
    waits: [1000],
  },
];

for (const row of ROWS) {
  Deno.test(`a goal with ${row.name} ends as the table says`, async () => {
    await onGoalStage(row.model, async ({ pursue, assembly, clock, events, requests }) => {
      await pursue({ objective: "Reach it", ...(row.checks ? { checks: row.checks } : {}) });
      const { goal } = assembly.session.state;
      assertEquals(
        {
          state: goal?.state,
          limit: goal?.limit,
          requests: requests.length,
          turns: goal?.turns,
          waits: clock.waits,
        },
        {
          state: row.state,
          limit: row.limit,
          requests: row.requests,
          turns: row.turns,
          waits: [...row.waits],
        },
      );
      // It never ends silently, and only a goal that is reached ends its mode.
      const last = events.findLast((event) => event.type === "notice" && event.code === "goal");
      assert(last?.type === "notice" && /^Goal /.test(last.text), JSON.stringify(last));
      assertEquals(assembly.modes.collaboration, row.state === "complete" ? "normal" : "goal");
    }, { goal: { ...row.limits } });
  });
}
