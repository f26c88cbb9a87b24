/** Token counts of an installed program: exact with the vocabulary of its build, else called estimates. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { makeTrial, type Trial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type Machine, makeMachine, serveFiles } from "../support/machine.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, mockConfig, programFile } from "../support/program.ts";
import { installLines } from "../support/readme.ts";

const [ADDRESS = "", , FILE = ""] = await installLines("README.md");
const VOCABULARY = "reasonix.o200k_base.js";

/** The installed command with what it needs to run on the machine, for a trial. */
function installed({ command, home }: Machine) {
  return { command: [command], env: { HOME: home, DENO_DIR: `${home}/../deno`, DENO_NO_UPDATE_CHECK: "1" } };
}

/** The count of the program that was not installed. */
async function ownCount(trial: Trial) {
  const program = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", await programFile()];
  return await trial.count(program, denoDir());
}

/** Changes a file without changing what it does. */
async function tamper(file: string): Promise<void> {
  await Deno.writeTextFile(file, `${await Deno.readTextFile(file)}// changed\n`);
}

Deno.test("a program from an address works with tools, counts exactly, and asks nobody but that address", async () => {
  await using machine = await makeMachine();
  await using server = serveFiles(`${machine.files}/dist`);
  await using elsewhere = listen();
  assertEquals((await machine.sh(server.here(ADDRESS))).code, 0);
  await using trial = await makeTrial();
  const { command, env } = installed(machine);
  // Whatever goes to another host goes through the proxy.
  const proxy = `http://127.0.0.1:${elsewhere.port}`;
  const watched = { ...env, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: "127.0.0.1" };
  await trial.work(command, watched);
  const counted = await trial.count(command, watched);
  assertEquals(counted.measure, "counted");
  assertEquals(counted, await ownCount(trial));
  const slash = await machine.sh(`${machine.command} run /context`, { env: { REASONIX_HOME: trial.home } });
  assertMatch(slash.text, /: [\d,]+ tokens counted, /);
  assert(server.asked.some((path) => path.startsWith(`/${VOCABULARY}?`)), `${server.asked}`);
  assertEquals(elsewhere.asked, 0);
  // Everything is there for the time without a network, and nothing was asked for twice.
  assertEquals(server.asked.length, new Set(server.asked).size);
  await server.close();
  await trial.work(command, watched);
  assertEquals(await trial.count(command, watched), counted);
});

Deno.test("a vocabulary that is not there, or not that of the build, is refused until the address has it", async () => {
  await using machine = await makeMachine();
  await using server = serveFiles(`${machine.files}/dist`);
  const file = `${machine.files}/dist/${VOCABULARY}`;
  const kept = await Deno.readFile(file);
  await Deno.remove(file);
  assertEquals((await machine.sh(server.here(ADDRESS))).code, 0);
  await using trial = await makeTrial();
  const { command, env } = installed(machine);
  const missing = await trial.count(command, env);
  assertEquals(missing.measure, "estimated");
  assertMatch(missing.withoutVocabulary ?? "", /^Cannot use http:.*o200k_base\.js.*: .*status 404$/);
  await Deno.writeFile(file, kept);
  await tamper(file);
  const tampered = await trial.count(command, env);
  assertEquals([tampered.measure, tampered.tokens], ["estimated", missing.tokens]);
  assertMatch(
    tampered.withoutVocabulary ?? "",
    /: its SHA-256 is [0-9a-f]{64}, that of this build [0-9a-f]{64}$/,
  );
  // What the runtime keeps of the failures is in nobody's way.
  await Deno.writeFile(file, kept);
  assertEquals(await trial.count(command, env), await ownCount(trial));
});

Deno.test("a program that never had its vocabulary calls counts estimates when its address is gone", async () => {
  await using machine = await makeMachine();
  await using server = serveFiles(`${machine.files}/dist`);
  assertEquals((await machine.sh(server.here(ADDRESS))).code, 0);
  await using trial = await makeTrial();
  const { command, env } = installed(machine);
  await trial.work(command, env);
  await machine.sh(`${machine.command} session list`, { env: { REASONIX_HOME: trial.home } });
  await server.close();
  await trial.work(command, env);
  const context = await machine.sh(`${machine.command} context`, { env: { REASONIX_HOME: trial.home } });
  assertMatch(context.text, /tokens estimated/);
  assertMatch(context.text, /! tokens are estimates, .*: Cannot use http:.*; install the program again/);
  // A part that nobody has used yet is missed with its address, and what to do.
  const setup = await machine.sh(`${machine.command} setup --yes`, { env: { REASONIX_HOME: trial.home } });
  assertMatch(
    setup.text,
    /Cannot load http:.*: it is not there; it comes from there when it is first used: try again with a network/,
  );
});

Deno.test("a vocabulary beside the program that was changed or taken away is not used, and a run says so", async () => {
  await using machine = await makeMachine();
  assertEquals((await machine.sh(FILE, { cwd: machine.files })).code, 0);
  await using trial = await makeTrial();
  const { command, env } = installed(machine);
  assertEquals(await trial.count(command, env), await ownCount(trial));
  const file = `${machine.files}/dist/${VOCABULARY}`;
  await tamper(file);
  const changed = await trial.count(command, env);
  assertEquals(changed.measure, "estimated");
  assertStringIncludes(changed.withoutVocabulary ?? "", `${VOCABULARY}: its SHA-256 is `);
  await Deno.remove(file);
  const gone = await trial.count(command, env);
  assertEquals([gone.measure, gone.tokens], ["estimated", changed.tokens]);
  assertMatch(gone.withoutVocabulary ?? "", /o200k_base\.js: No such file/);
  // Near the limit of its context a run wants the vocabulary.
  await using server = startModelServer([
    { calls: [{ name: "ls", args: {} }], usage: { input: 7_600, cached: 0, output: 10 } },
    { text: "Done." },
    { text: "A summary." },
  ], { fallback: { text: "Done." } });
  await Deno.writeTextFile(
    `${trial.home}/config.toml`,
    mockConfig(server.url, "", "context_window = 9500"),
  );
  const done = await machine.sh(`${machine.command} run "List the files"`, {
    env: { REASONIX_HOME: trial.home },
  });
  assertMatch(
    done.text,
    /Tokens are estimates, so the context may be shortened too early or too late: Cannot use /,
  );
});

/** Counts who connects. */
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
