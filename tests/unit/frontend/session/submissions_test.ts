import type { TurnOutcome } from "../../../../src/agent/mod.ts";
import type { CommandHost } from "../../../../src/command/mod.ts";
import type { Assembly, TurnInput } from "../../../../src/run/mod.ts";
import { SessionHost } from "../../../../src/frontend/session/session_host.ts";
import {
  type Draft,
  type DraftEnd,
  Submissions,
  type Submitter,
} from "../../../../src/frontend/session/submissions.ts";
import { SessionTexts } from "../../../../src/frontend/session/texts.ts";
import { assertEquals } from "../../../support/assert.ts";

const OUTCOME = { answer: "", steps: 1, durationMs: 1 } as TurnOutcome;

/** Submissions of a session whose turns end when the test says so. */
async function stage() {
  const turns: {
    readonly text: string;
    readonly input: TurnInput;
    end(reason: TurnOutcome["reason"] | Error): void;
  }[] = [];
  const waits: (() => void)[] = [];
  const returned: string[] = [];
  const failures: unknown[] = [];
  const run = async (input: string | TurnInput, signal?: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<TurnOutcome>();
    const given = typeof input === "string" ? { text: input } : input;
    turns.push({
      text: given.text,
      input: given,
      end: (reason) => reason instanceof Error ? reject(reason) : resolve({ ...OUTCOME, reason }),
    });
    signal?.addEventListener("abort", () => resolve({ ...OUTCOME, reason: "interrupted" }));
    waits.shift()?.();
    return await promise;
  };
  const assembly = { run, controller: { subscribe() {}, takeSteering: () => [] } } as unknown as Assembly;
  const frontEnd: Submitter = {
    returned: (drafts) => void returned.push(...drafts.map(({ text }) => text)),
    failed: (error) => void failures.push(error),
    // A line is a command that sends what follows it.
    headed: (line, work) =>
      line.startsWith("/goal") ? Promise.resolve(submissions.send("sent")).then() as never : work(),
  };
  const submissions: Submissions = new Submissions({
    host: new SessionHost(() => Promise.resolve(assembly), () => {}),
    commands: () =>
      ({ locale: "en", send: (text: string) => submissions.send(text) }) as unknown as CommandHost,
    texts: await SessionTexts.load("en"),
    frontEnds: () => [frontEnd],
    changed() {},
  });
  const begun = () => new Promise<void>((resolve) => waits.push(resolve));
  const ends = new Map<string, Promise<DraftEnd>>();
  const prompt = (text: string): Draft => {
    const { promise, resolve } = Promise.withResolvers<DraftEnd>();
    ends.set(text, promise);
    return { text, steer: false, ended: resolve };
  };
  const endOf = async (text: string) => {
    const { outcome, error, stopped } = await ends.get(text) ?? {};
    return [outcome?.reason, error, stopped];
  };
  return { submissions, turns, returned, failures, begun, prompt, endOf };
}

Deno.test("a draft with an end waits its turn, and another front end's failure does not return it", async () => {
  const { submissions, turns, returned, failures, begun, prompt, endOf } = await stage();
  submissions.add({ text: "typed", steer: false });
  submissions.add(prompt("first"));
  submissions.add({ text: "typed later", steer: false });
  submissions.add(prompt("second"));
  await begun();
  const failure = new Error("down");
  const next = begun();
  turns[0]?.end(failure);
  await next;
  assertEquals([returned, failures], [["typed", "typed later"], [failure]]);
  const last = begun();
  turns[1]?.end("provider");
  assertEquals(await endOf("first"), ["provider", undefined, undefined]);
  await last;
  turns[2]?.end(failure);
  assertEquals(await endOf("second"), [undefined, failure, undefined]);
  assertEquals([turns.map(({ text }) => text), failures], [["typed", "first", "second"], [failure]]);
});

Deno.test("drafts with an end are stopped together or one at a time", async () => {
  const { submissions, turns, returned, begun, prompt, endOf } = await stage();
  const waiting = prompt("waiting");
  submissions.add(prompt("running"));
  submissions.add(waiting);
  submissions.add(prompt("last"));
  submissions.add({ text: "typed", steer: false });
  await begun();
  submissions.cancel(waiting);
  assertEquals(await endOf("waiting"), [undefined, undefined, true]);
  submissions.stop();
  assertEquals(await endOf("running"), ["interrupted", undefined, true]);
  assertEquals(await endOf("last"), [undefined, undefined, true]);
  assertEquals([turns.length, returned], [1, ["typed"]]);
});

Deno.test("the text of a command has the attachments of its line", async () => {
  const { submissions, turns, begun } = await stage();
  const image = { mime: "image/png", data: "" };
  submissions.add({ text: "/goal x", steer: false, images: [image], references: ["<file/>"] });
  await begun();
  assertEquals(turns[0]?.input, { text: "sent", images: [image], references: ["<file/>"] });
});

Deno.test("work between drafts waits for the one that runs, goes before the others, and may fail", async () => {
  const { submissions, turns, begun } = await stage();
  const order: string[] = [];
  submissions.add({ text: "one", steer: false });
  submissions.add({ text: "two", steer: false });
  await begun();
  const failing = submissions.between(() => Promise.reject(new Error("down"))).catch(({ message }) =>
    message
  );
  const work = submissions.between(() => Promise.resolve(void order.push("work"))).then(() => turns.length);
  assertEquals([order, submissions.waiting.length], [[], 1]);
  const second = begun();
  turns[0]?.end("done");
  await second;
  assertEquals([order, await failing, await work], [["work"], "down", 1]);
  turns[1]?.end("done");
  await submissions.between(() => Promise.resolve(void order.push("idle")));
  assertEquals(order, ["work", "idle"]);
});

Deno.test("a command ends with the turn of the text that it sent", async () => {
  const { submissions, turns, begun, prompt, endOf } = await stage();
  submissions.add(prompt("/goal x"));
  await begun();
  turns[0]?.end("done");
  assertEquals([await endOf("/goal x"), turns[0]?.text], [["done", undefined, undefined], "sent"]);
});
