/** The first hour of a user, on a real terminal: setup with a wrong key, the right one, the first answer. */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, makeWorld, programFile } from "../support/program.ts";
import { openTerminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const KEY = "sk-right-0123456789abcdef";
const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

/** A server that knows one key, and answers with one word. */
function answers(request: RecordedRequest): Turn {
  return request.headers.get("authorization") === `Bearer ${KEY}`
    ? { text: "Forty-two." }
    : { status: 401, body: { error: { message: "Incorrect API key provided" } } };
}

for (const lang of ["en_US.UTF-8", "zh_CN.UTF-8"]) {
  const { name, ignore } = needs("tmux", hasTmux, `setup mends a wrong key and leads to an answer, ${lang}`);
  Deno.test({ name, ignore, fn: () => playSetup(lang) });
}

async function playSetup(lang: string): Promise<void> {
  await using server = startModelServer([], {
    models: ["small-1", "large-1"],
    fallback: answers,
    check: { prefix: false },
  });
  await using world = await makeWorld();
  await using terminal = await openTerminal(await programFile(), {
    cwd: world.dir,
    env: { REASONIX_HOME: world.home, HOME: world.home, LANG: lang, LC_ALL: lang, ...denoDir() },
  });
  await terminal.type("reasonix run hello");
  await terminal.press("Enter");
  await terminal.shows("reasonix setup");
  await terminal.type("clear; reasonix setup");
  await terminal.press("Enter");
  await terminal.shows("Which provider?");
  await terminal.press("Up", "Enter");
  await terminal.shows("Address of the API");
  await terminal.type(`${server.url}${KEY}`);
  await terminal.press("Enter");
  await terminal.shows("There is a key in this address");
  for (let i = 0; i < KEY.length; i++) await terminal.press("BSpace");
  await terminal.press("Enter");
  await terminal.shows("A name for it");
  await terminal.type("mine");
  await terminal.press("Enter");
  await terminal.shows("Key (saved as MINE_API_KEY");
  await terminal.type("sk-wrong-0123456789");
  await terminal.press("Enter");
  const list = await terminal.shows("◆  Model");
  assert(!list.includes("sk-wrong"), "the key is masked");
  await terminal.press("Down", "Enter");
  const refused = await terminal.shows("What now?");
  assertMatch(refused.replace(/\s+/g, " "), /status 401/);
  await terminal.press("Enter");
  await terminal.shows("Key (saved as MINE_API_KEY");
  await terminal.type(KEY);
  await terminal.press("Enter");
  await terminal.shows("◆  Model");
  await terminal.press("Down", "Enter");
  await terminal.shows("Context window");
  await terminal.type("128k");
  await terminal.press("Enter");
  await terminal.shows('reasonix run "explain this project"');
  assertEquals(
    (await Deno.readTextFile(`${world.home}/config.toml`)).split("\n").filter((line) =>
      line && !/^#/.test(line)
    ),
    [
      'default_model = "mine"',
      "[[providers]]",
      'name = "mine"',
      `base_url = "${server.url}"`,
      'model = "large-1"',
      'api_key_env = "MINE_API_KEY"',
      "context_window = 128000",
    ],
  );
  assertEquals(await Deno.readTextFile(`${world.home}/.env`), `MINE_API_KEY=${KEY}\n`);
  await terminal.type(`clear; reasonix run 'what is six by seven?'; echo "ended $?"`);
  await terminal.press("Enter");
  const answer = await terminal.shows("ended 0");
  assertMatch(answer, /^Forty-two\.$/m);
}
