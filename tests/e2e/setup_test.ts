/** The first hour of a user, on a real terminal: setup with a wrong key, the right one, the first answer. */
import { loadTexts, type Locale, type Texts } from "../../src/i18n/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import {
  type ModelServer,
  type RecordedRequest,
  startModelServer,
  type Turn,
} from "../support/model_server.ts";
import { denoDir, makeWorld, programFile, type World } from "../support/program.ts";
import { openTerminal, type Terminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const KEY = "sk-right-0123456789abcdef";
const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

/** A server that accepts one key and answers with one word. */
function answers(request: RecordedRequest): Turn {
  return request.headers.get("authorization") === `Bearer ${KEY}`
    ? { text: "Forty-two." }
    : { status: 401, body: { error: { message: "Incorrect API key provided" } } };
}

function scriptedServer(): ModelServer {
  return startModelServer([], {
    models: ["small-1", "large-1"],
    fallback: answers,
    check: { prefix: false },
  });
}

interface Screen {
  readonly lang: string;
  readonly columns: number;
  readonly env?: Readonly<Record<string, string>>;
}

async function terminalIn(world: World, { lang, columns, env }: Screen): Promise<Terminal> {
  return await openTerminal(await programFile(), {
    cwd: world.dir,
    columns,
    rows: 60,
    env: {
      REASONIX_HOME: world.home,
      HOME: world.home,
      LANG: lang,
      LC_ALL: lang,
      ...denoDir(),
      ...env,
    },
  });
}

/** The beginning of a text: what is left of it on the first of several lines. */
function beginning(text: string): string {
  return text.slice(0, 14);
}

/** Moves the mark of a list to an item and takes it. */
async function choose(terminal: Terminal, label: string): Promise<void> {
  let screen = await terminal.shows("●");
  for (let moves = 0; !screen.includes(`● ${label}`); moves++) {
    assert(moves < 30, `${label} is offered:\n${screen}`);
    const before = marked(screen);
    await terminal.press("Down");
    do screen = await terminal.screen(); while (marked(screen) === before);
  }
  await terminal.press("Enter");
}

function marked(screen: string): string | undefined {
  return screen.split("\n").find((line) => line.includes("●"));
}

async function enter(terminal: Terminal, line: string): Promise<void> {
  await terminal.type(line);
  await terminal.press("Enter");
}

let rounds = 0;

/** Starts a command on an empty screen, so that earlier output is not mistaken for its output. */
async function start(terminal: Terminal, line: string): Promise<void> {
  rounds++;
  await enter(terminal, `clear; printf 'round %d\\n' ${rounds}; ${line}`);
  await terminal.shows(`round ${rounds}\n`);
}

/** Checks that every line of a question has the bar at its left and fits the screen. */
function assertLaidOut(screen: string): void {
  const start = screen.lastIndexOf("┌");
  const lines = screen.slice(start).trimEnd().split("\n");
  for (const line of lines) assertMatch(line, /^(?:[┌│◇◆▲■└]| {3})/, `a line hangs out:\n${screen}`);
}

const SCREENS = [
  { lang: "en_US.UTF-8", locale: "en", columns: 80 },
  { lang: "en_US.UTF-8", locale: "en", columns: 40 },
  { lang: "zh_CN.UTF-8", locale: "zh-CN", columns: 80 },
  { lang: "zh_CN.UTF-8", locale: "zh-CN", columns: 40 },
] as const;

function onTerminal(what: string, fn: () => Promise<void>): void {
  const { name, ignore } = needs("tmux", hasTmux, what);
  Deno.test({ name, ignore, fn });
}

for (const screen of SCREENS) {
  const { lang, columns } = screen;
  onTerminal(
    `setup replaces a wrong key and gets an answer, ${lang}, ${columns} columns`,
    () => playSetup(screen),
  );
}

async function playSetup(screen: Screen & { readonly locale: Locale }): Promise<void> {
  const texts = await loadTexts("setup", screen.locale);
  await using server = scriptedServer();
  await using world = await makeWorld();
  await using terminal = await terminalIn(world, screen);
  await enter(terminal, "reasonix run hello");
  await terminal.shows("reasonix setup");
  await start(terminal, "reasonix setup");
  await terminal.shows(texts.whichProvider);
  await terminal.press("Up", "Enter");
  await terminal.shows(texts.address);
  await enter(terminal, `${server.url}${KEY}`);
  assertLaidOut(withoutLongWords(await terminal.shows(beginning(texts.wrong.addressHasKey))));
  for (let i = 0; i < KEY.length; i++) await terminal.press("BSpace");
  await terminal.press("Enter");
  await terminal.shows(texts.providerName);
  await enter(terminal, "mine");
  await terminal.shows(beginning(texts.keyOrNone("MINE_API_KEY")));
  await enter(terminal, "sk-wrong-0123456789");
  const list = await terminal.shows(`◆  ${texts.model}`);
  assert(!list.includes("sk-wrong"), "the key is masked");
  await choose(terminal, "large-1");
  const refused = await terminal.shows(texts.whatNow);
  const said = refused.replace(/[\s│]+/g, "");
  assertStringIncludes(said, texts.keyRefused(new URL(server.url).host).replaceAll(" ", ""));
  assertStringIncludes(said, "status401");
  assertLaidOut(refused);
  await choose(terminal, texts.typeAnotherKey);
  await terminal.shows(`◆  ${beginning(texts.keyOrNone("MINE_API_KEY"))}`);
  await enter(terminal, KEY);
  // The model of the first attempt is offered first.
  await terminal.shows("● large-1");
  await terminal.press("Enter");
  assertLaidOut(await terminal.shows(beginning(texts.askWindow)));
  await enter(terminal, "128k");
  await terminal.shows("&& reasonix");
  await assertSaved(world, server);
  await start(terminal, `reasonix run 'what is six by seven?'; echo "ended $?"`);
  const answer = await terminal.shows("ended 0");
  assertMatch(answer, /^Forty-two\.$/m);
}

/** The first question of the wizard in the chat, and the last with all before it. */
const WIZARD = new URL("../golden/chat/wizard.txt", import.meta.url);

onTerminal("the wizard in the chat looks as recorded, in both languages and two widths", async () => {
  const pictures: string[] = [];
  for (const screen of SCREENS) {
    const texts = await loadTexts("setup", screen.locale);
    await using server = scriptedServer();
    await using world = await makeWorld();
    await using terminal = await terminalIn(world, screen);
    await start(terminal, "reasonix");
    const steps = questions(texts, server);
    for (const [index, { shows, answer }] of steps.entries()) {
      const shown = await still(terminal, shows);
      if (index === 0 || index === steps.length - 1) {
        const wizard = shown.slice(shown.indexOf("┌")).trimEnd().replaceAll(/127\.0\.0\.1:\d+/g, HOST);
        pictures.push(`== ${screen.locale}, ${screen.columns} columns\n${wizard}\n`);
      }
      await answer(terminal);
    }
  }
  const now = pictures.join("\n");
  if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(WIZARD, now);
  assertEquals(now, await Deno.readTextFile(WIZARD), "UPDATE_GOLDEN=1 records a changed wizard");
});

const HOST = "127.0.0.1:40000";

/** The screen with a text, once it does not change any more. */
async function still(terminal: Terminal, text: string): Promise<string> {
  let before = "";
  let now = await terminal.shows(text);
  while (now !== before) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
    now = await terminal.screen();
  }
  return now;
}

/** An address is one word, which the terminal itself breaks where it is longer than a line. */
function withoutLongWords(screen: string): string {
  return screen.replace(/^│ {2}http[^\n]*\n[^\n│└]+\n/m, "");
}

async function assertSaved(world: World, server: ModelServer): Promise<void> {
  const text = await Deno.readTextFile(`${world.home}/config.toml`);
  assertEquals(
    text.slice(text.indexOf("\n\n")),
    `\n\ndefault_model = "mine"\n\n[[providers]]\nname = "mine"\nbase_url = "${server.url}"\n` +
      'model = "large-1"\napi_key_env = "MINE_API_KEY"\ncontext_window = 128000\n',
  );
  assertEquals(await Deno.readTextFile(`${world.home}/.env`), `MINE_API_KEY=${KEY}\n`);
}

/** The questions up to the last, each with its answer. */
function questions(texts: Texts["setup"], server: ModelServer) {
  return [
    { shows: texts.whichProvider, answer: (terminal: Terminal) => terminal.press("Up", "Enter") },
    { shows: texts.address, answer: (terminal: Terminal) => enter(terminal, server.url) },
    { shows: texts.providerName, answer: (terminal: Terminal) => enter(terminal, "mine") },
    {
      shows: beginning(texts.keyOrNone("MINE_API_KEY")),
      answer: (terminal: Terminal) => enter(terminal, KEY),
    },
    { shows: `◆  ${texts.model}`, answer: (terminal: Terminal) => choose(terminal, "small-1") },
    { shows: beginning(texts.askWindow), answer: () => Promise.resolve() },
  ];
}

for (const screen of [SCREENS[0], SCREENS[3]]) {
  onTerminal(`setup writes nothing when it is canceled at any question, ${screen.lang}`, async () => {
    const texts = await loadTexts("setup", screen.locale);
    await using server = scriptedServer();
    await using world = await makeWorld();
    await using terminal = await terminalIn(world, screen);
    const steps = questions(texts, server);
    for (const [last, { shows }] of steps.entries()) {
      await start(terminal, "reasonix setup; echo ended");
      for (const step of steps.slice(0, last)) {
        await terminal.shows(step.shows);
        await step.answer(terminal);
      }
      await terminal.shows(shows);
      await terminal.press(last % 2 === 0 ? "C-c" : "Escape");
      const end = await terminal.shows("\nended");
      assertStringIncludes(end, `└  ${texts.nothingWritten}`);
      assertEquals([...Deno.readDirSync(world.home)].map(({ name }) => name).filter(isOurs), [], shows);
    }
  });
}

function isOurs(name: string): boolean {
  return name === "config.toml" || name === ".env";
}

onTerminal("a chat ends with its terminal, also during the wizard", async () => {
  const texts = await loadTexts("setup", "en");
  await using world = await makeWorld();
  let program = "";
  {
    await using terminal = await terminalIn(world, SCREENS[0]);
    await start(terminal, "reasonix");
    await terminal.shows(texts.whichProvider);
    const shell = await terminal.ask("#{pane_pid}");
    program = (await Deno.readTextFile(`/proc/${shell}/task/${shell}/children`)).trim();
    assertMatch(program, /^\d+$/);
  }
  const end = performance.now() + 60_000;
  while (await runs(program)) {
    assert(performance.now() < end, "the program continues without its terminal");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

async function runs(pid: string): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}

onTerminal("setup can be canceled while it waits for a server", async () => {
  const texts = await loadTexts("setup", "en");
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using world = await makeWorld();
  await using terminal = await terminalIn(world, SCREENS[0]);
  await start(terminal, "reasonix setup; echo ended");
  await terminal.shows(texts.whichProvider);
  await terminal.press("Up", "Enter");
  await terminal.shows(texts.address);
  await enter(terminal, `http://127.0.0.1:${silent.addr.port}/v1`);
  await terminal.shows(texts.providerName);
  await terminal.press("Enter");
  await terminal.shows(texts.keyOrNone("LOCAL_API_KEY"));
  await terminal.press("Enter");
  await terminal.shows("Asking 127.0.0.1");
  await terminal.press("C-c");
  assertStringIncludes(await terminal.shows("\nended"), texts.nothingWritten);
  assertEquals([...Deno.readDirSync(world.home)].map(({ name }) => name).filter(isOurs), []);
});

onTerminal(
  "a second setup offers configured providers and keys of the environment, and adds a provider",
  async () => {
    const texts = await loadTexts("setup", "en");
    await using server = scriptedServer();
    await using world = await makeWorld(
      `# mine\ndefault_model = "mine"\n\n[[providers]]\nname = "mine" # first\nbase_url = "${server.url}"\n` +
        'model = "small-1"\napi_key_env = "MINE_API_KEY"\n',
    );
    const env = { MINE_API_KEY: KEY, GROQ_API_KEY: "gsk_0123456789abcdef" };
    await using terminal = await terminalIn(world, { ...SCREENS[0], env });
    await start(terminal, "reasonix setup");
    const list = await terminal.shows(texts.whichProvider);
    assert(list.indexOf("Groq") < list.indexOf("DeepSeek"), "vendors whose key is there come first");
    await choose(terminal, `mine (${texts.isSetUp})`);
    await terminal.shows(texts.keyIsInEnvironment("MINE_API_KEY"));
    await choose(terminal, texts.useThisKey);
    await terminal.shows(`◆  ${texts.model}`);
    await choose(terminal, "large-1");
    await terminal.shows(beginning(texts.askWindow));
    await terminal.press("Enter");
    await terminal.shows("&& reasonix");
    const changed = await Deno.readTextFile(`${world.home}/config.toml`);
    assertEquals(
      changed,
      `# mine\ndefault_model = "mine"\n\n[[providers]]\nname = "mine" # first\nbase_url = "${server.url}"\n` +
        'model = "large-1"\napi_key_env = "MINE_API_KEY"\ncontext_window = 128000\n',
    );
    await start(terminal, "reasonix setup");
    await terminal.shows(texts.whichProvider);
    await terminal.press("Up", "Enter");
    await terminal.shows(texts.address);
    await enter(terminal, server.url);
    await terminal.shows(texts.providerName);
    await enter(terminal, "second");
    await terminal.shows(texts.keyOrNone("SECOND_API_KEY"));
    await enter(terminal, KEY);
    await terminal.shows(`◆  ${texts.model}`);
    await terminal.press("Enter");
    await terminal.shows(beginning(texts.askWindow));
    await terminal.press("Enter");
    await terminal.shows(texts.useAlways("second"));
    await terminal.press("Down", "Enter");
    await terminal.shows("&& reasonix");
    assertEquals(
      await Deno.readTextFile(`${world.home}/config.toml`),
      `${changed}\n[[providers]]\nname = "second"\nbase_url = "${server.url}"\nmodel = "small-1"\n` +
        'api_key_env = "SECOND_API_KEY"\ncontext_window = 128000\n',
    );
    assertEquals(await Deno.readTextFile(`${world.home}/.env`), `SECOND_API_KEY=${KEY}\n`);
  },
);

const LOCAL_SERVERS = [["LM Studio", 1234], ["vLLM", 8000], ["Ollama", 11434], ["llama.cpp", 8080]] as const;

/** A server where one of the known ones usually listens; undefined when all those ports are taken. */
function localServer(): { server: ModelServer; label: string } | undefined {
  for (const [label, port] of LOCAL_SERVERS) {
    try {
      return { server: startModelServer([], { port, models: ["qwen3"], fallback: { text: "OK" } }), label };
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  return undefined;
}

onTerminal("setup lists a local server and asks for no key", async () => {
  const texts = await loadTexts("setup", "zh-CN");
  const local = localServer();
  assert(local, "every port at which a server of this machine is looked for is taken");
  await using server = local.server;
  await using world = await makeWorld();
  await using terminal = await terminalIn(world, SCREENS[2]);
  await start(terminal, "reasonix setup");
  const list = await terminal.shows(texts.whichProvider);
  assertStringIncludes(list, texts.onThisMachine(local.label));
  await choose(terminal, texts.onThisMachine(local.label));
  await terminal.shows(`◆  ${texts.model}`);
  await terminal.press("Enter");
  await terminal.shows(beginning(texts.askWindow));
  await enter(terminal, "32k");
  await terminal.shows("&& reasonix");
  assertMatch(
    await Deno.readTextFile(`${world.home}/config.toml`),
    new RegExp(`base_url = "${server.url}"\nmodel = "qwen3"\ncontext_window = 32000\n$`),
  );
});

for (const screen of [SCREENS[0], SCREENS[3]]) {
  onTerminal(`a long list of models is searched by typing, ${screen.lang}`, async () => {
    const texts = await loadTexts("setup", screen.locale);
    const models = Array.from({ length: 60 }, (_, index) => `maker/model-${index + 1}`);
    await using server = startModelServer([], { models, fallback: answers, check: { prefix: false } });
    await using world = await makeWorld();
    await using terminal = await terminalIn(world, screen);
    await start(terminal, "reasonix setup; echo ended");
    for (const step of questions(texts, server).slice(0, 4)) {
      await terminal.shows(step.shows);
      await step.answer(terminal);
    }
    assertLaidOut(await terminal.shows(texts.searchKeys.slice(0, 30)));
    await terminal.type("EL-42");
    const found = await terminal.shows(`EL-42█ (${texts.matches(1)})`);
    assertLaidOut(found);
    assertStringIncludes(found, "● maker/model-42");
    await terminal.type("x");
    await terminal.shows(`(${texts.matches(0)})`);
    await terminal.press("BSpace");
    await terminal.shows("● maker/model-42");
    await terminal.press("Enter");
    await terminal.shows(beginning(texts.askWindow));
    await terminal.press("Enter");
    await terminal.shows("\nended");
    assertStringIncludes(await Deno.readTextFile(`${world.home}/config.toml`), 'model = "maker/model-42"\n');
  });
}
