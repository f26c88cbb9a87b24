/** A program installed from a URL: it connects only to that URL and names a missing part. */
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { type Machine, makeMachine, serveFiles } from "../support/machine.ts";
import { installLines } from "../support/readme.ts";

const [ADDRESS = ""] = await installLines();

/** The installed command with what it needs to run on the machine, for a trial. */
function installed({ command, home }: Machine) {
  return { command: [command], env: { HOME: home, DENO_DIR: `${home}/../deno`, DENO_NO_UPDATE_CHECK: "1" } };
}

Deno.test("a program from a URL runs tools, connects only to that URL, and works offline afterwards", async () => {
  await using machine = await makeMachine();
  await using server = serveFiles(`${machine.files}/dist`);
  await using elsewhere = listen();
  assertEquals((await machine.sh(server.here(ADDRESS))).code, 0);
  await using trial = await makeTrial();
  const { command, env } = installed(machine);
  // Requests to another host go through the proxy.
  const proxy = `http://127.0.0.1:${elsewhere.port}`;
  const watched = { ...env, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: "127.0.0.1" };
  await trial.work(command, watched);
  const slash = await machine.sh(`${machine.command} run /context`, { env: { REASONIX_HOME: trial.home } });
  assertMatch(slash.text, /tokens/);
  const licenses = await machine.sh(`${machine.command} version --licenses`);
  assertMatch(licenses.text, /^Third-party licenses of Reasonix [^]*Permission is hereby granted/);
  assertEquals(elsewhere.asked, 0);
  // The runtime keeps every file: none is requested twice.
  assertEquals(server.asked.length, new Set(server.asked).size);
  assert(server.asked.length > 1, `${server.asked}`);
  await server.close();
  await trial.work(command, watched);
  // A part that was never used is missing: the message has its address and the next step.
  const chinese = await machine.sh(`${machine.command} run hi`, {
    env: { REASONIX_HOME: trial.home, REASONIX_LANG: "zh-CN" },
  });
  assertMatch(
    chinese.text,
    /Cannot load http:.*: it is not there; it comes from there when it is first used: try again with a network/,
  );
});

/** Counts connections. */
function listen() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const seen = { asked: 0 };
  const done = (async () => {
    for await (const connection of listener) {
      seen.asked++;
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    get asked() {
      return seen.asked;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await done;
    },
  };
}
