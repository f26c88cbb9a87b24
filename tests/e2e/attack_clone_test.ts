import { assertEquals } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type Clone, CLONES, DOORS, gotSomething, plant, THROUGH_THE_DOOR } from "./attack_clone.ts";
import { someOf } from "../support/seed.ts";
import { ALL_ALLOWED, play, through } from "./attack_lab.ts";

/**
 * Runs the program in the fresh clone without a decision about trust; returns [evidence of access, exit
 * code, requests].
 */
async function enter(clone: Clone, args: readonly string[]): Promise<[string[], number, number]> {
  const got: string[] = [];
  const { done, sent } = await play([], {
    args,
    prepare: (s) => plant(s, clone),
    after: async (s, run) => void got.push(...await gotSomething(s, run, false)),
  });
  return [got, done.code, sent.length];
}

async function twoAtATime<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const line = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await work(next);
  };
  await Promise.all([line(), line()]);
}

Deno.test({
  ...jailed("a hostile clone starts nothing, sends nothing and is refused before trust"),
  fn: async () => {
    const seen: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    await twoAtATime(CLONES, async (clone) => {
      const [got, code, requests] = await enter(clone, []);
      const refused = code === (clone.broken ? 6 : 3) && requests === 0;
      seen[clone.name] = [got, refused || (code === 0 && !clone.refused && !clone.broken)];
      expected[clone.name] = [[], true];
    });
    assertEquals(seen, expected);
  },
});

// Some of the clones, in `deno task soak` all.
// A model that writes these files gains nothing: in the next run they are untrusted files of the repository.
Deno.test({
  ...jailed("an untrusted hostile clone grants nothing to a hostile model"),
  fn: async () => {
    const seen: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    await twoAtATime(someOf(DOORS, 6), async (clone) => {
      const got: string[] = [];
      const run = await play(THROUGH_THE_DOOR, {
        args: ["--ignore-untrusted", ...ALL_ALLOWED],
        prepare: (s) => plant(s, clone),
        after: async (s, played) => void got.push(...await gotSomething(s, played, true)),
      });
      // Without a model that it may use the program does not start.
      const refused = run.done.code === 3 && run.sent.length === 0;
      seen[clone.name] = [through([run]), got, refused || run.played.length === THROUGH_THE_DOOR.length];
      expected[clone.name] = [[], [], true];
    });
    assertEquals(seen, expected);
  },
});
