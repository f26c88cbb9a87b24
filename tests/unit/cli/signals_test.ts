import { onSignals } from "../../../cli/terminal/process.ts";
import { assertEquals } from "../../support/assert.ts";

/** Calls of the handlers after three signals, the first of them at time 0. */
async function callsAfter(launched: string, second: number, third: number): Promise<readonly string[]> {
  Deno.env.set("REASONIX_LAUNCHED", launched);
  const calls: string[] = [];
  let time = 0;
  let heard = Promise.withResolvers<void>();
  const remove = onSignals({
    stop: (reason) => void calls.push(reason),
    exit: (code) => void calls.push(`exit ${code}`),
  }, () => time);
  // Executes after the listeners of the program.
  const last = () => heard.resolve();
  Deno.addSignalListener("SIGTERM", last);
  // Listeners alone do not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  try {
    for (time of [0, second, third]) {
      heard = Promise.withResolvers();
      Deno.kill(Deno.pid, "SIGTERM");
      await heard.promise;
      calls.push(`at ${time}`);
    }
    return calls;
  } finally {
    clearInterval(alive);
    Deno.removeSignalListener("SIGTERM", last);
    remove();
    Deno.env.delete("REASONIX_LAUNCHED");
  }
}

for (
  const { name, launched, second, calls } of [
    {
      name: "a second signal ends the program at once",
      launched: "",
      second: 10,
      calls: ["terminated", "at 0", "exit 143", "terminated", "at 10", "exit 143", "terminated", "at 400"],
    },
    {
      name: "a signal that a launcher passes on is the same one",
      launched: `node:${Deno.pid}:name`,
      second: 299,
      calls: ["terminated", "at 0", "at 299", "exit 143", "terminated", "at 400"],
    },
    {
      name: "a launcher of another process changes nothing",
      launched: `node:1${Deno.pid}:name`,
      second: 299,
      calls: [
        "terminated",
        "at 0",
        "exit 143",
        "terminated",
        "at 299",
        "exit 143",
        "terminated",
        "at 400",
      ],
    },
  ]
) {
  Deno.test({
    name,
    ignore: Deno.build.os === "windows",
    fn: async () => assertEquals(await callsAfter(launched, second, 400), calls),
  });
}
