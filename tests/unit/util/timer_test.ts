import { unlessAborted } from "../../../src/util/timer.ts";
import { assertEquals, assertRejects } from "../../support/assert.ts";

Deno.test("unlessAborted resolves and rejects like its promise", async () => {
  assertEquals(await unlessAborted(Promise.resolve(1), undefined), 1);
  const failed = Promise.reject(new Error("no"));
  await assertRejects(() => unlessAborted(failed, new AbortController().signal), Error, "no");
});

Deno.test("unlessAborted rejects with the abort reason and ignores a later failure", async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  const controller = new AbortController();
  const waiting = unlessAborted(promise, controller.signal);
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  await assertRejects(() => unlessAborted(promise, controller.signal), Error, "enough");
  await assertRejects(() => unlessAborted(Promise.resolve(1), controller.signal), Error, "enough");
  reject(new Error("late"));
  await new Promise((resolve) => setTimeout(resolve));
});
