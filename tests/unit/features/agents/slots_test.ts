import { Slots } from "../../../../src/features/agents/agent_run.ts";
import { assertEquals, assertRejects } from "../../../support/assert.ts";

const never = new AbortController().signal;

Deno.test("Slots limits concurrent tasks; others wait in order, and aborted ones leave the queue", async () => {
  const slots = new Slots(2);
  const [first] = await Promise.all([slots.take(never), slots.take(never)]);
  const order: string[] = [];
  const stop = new AbortController();
  const third = slots.take(stop.signal);
  const fourth = slots.take(never).then((release) => (order.push("fourth"), release));
  stop.abort(new Error("gave up"));
  await assertRejects(() => third, Error, "gave up");
  first();
  first();
  const release = await fourth;
  const fifth = slots.take(never).then(() => order.push("fifth"));
  assertEquals(order, ["fourth"]);
  release();
  await fifth;
  assertEquals(order, ["fourth", "fifth"]);
  await assertRejects(() => slots.take(AbortSignal.abort(new Error("late"))), Error, "late");
});
