/** The first hour of a user, on a real terminal: setup with a wrong key, the right one, the first answer. */
import { loadTexts, type Locale } from "../../src/i18n/mod.ts";
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

for (const [lang, locale] of [["en_US.UTF-8", "en"], ["zh_CN.UTF-8", "zh-CN"]] as const) {
  const { name, ignore } = needs("tmux", hasTmux, `setup mends a wrong key and leads to an answer, ${lang}`);
  Deno.test({ name, ignore, fn: () => playSetup(lang, locale) });
}

async function playSetup(lang: string, locale: Locale): Promise<void> {
  const texts = await loadTexts("setup", locale);
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
  await terminal.shows(texts.whichProvider);
  await terminal.press("Up", "Enter");
  await terminal.shows(texts.address);
  await terminal.type(`${server.url}${KEY}`);
  await terminal.press("Enter");
  await terminal.shows(texts.wrong.addressHasKey.slice(0, 12));
  for (let i = 0; i < KEY.length; i++) await terminal.press("BSpace");
  await terminal.press("Enter");
  await terminal.shows(texts.providerName);
  await terminal.type("mine");
  await terminal.press("Enter");
  await terminal.shows(texts.keyOrNone("MINE_API_KEY").slice(0, 20));
  await terminal.type("sk-wrong-0123456789");
  await terminal.press("Enter");
  const list = await terminal.shows(`◆  ${texts.model}`);
  assert(!list.includes("sk-wrong"), "the key is masked");
  await terminal.press("Down", "Enter");
  const refused = await terminal.shows(texts.whatNow);
  assertMatch(refused.replace(/\s+/g, " "), /status 401/);
  await terminal.press("Enter");
  await terminal.shows(texts.keyOrNone("MINE_API_KEY").slice(0, 20));
  await terminal.type(KEY);
  await terminal.press("Enter");
  await terminal.shows(`◆  ${texts.model}`);
  await terminal.press("Down", "Enter");
  await terminal.shows(texts.askWindow.slice(0, 14));
  await terminal.type("128k");
  await terminal.press("Enter");
  await terminal.shows(texts.askSomething);
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
