/** Opening sessions by request: directory, roots, servers of a client, and sessions that stay apart. */
import { chatOpener, type OpenChat, setUpAt } from "../../../cli/commands/run/open_chat.ts";
import type { CliContext } from "../../../cli/terminal/process.ts";
import type { OpenRequest } from "../../../src/command/mod.ts";
import { listServers, parsePlugin, type PluginEntry } from "../../../src/config/mod.ts";
import { type Event, ReasonixError } from "../../../src/core/mod.ts";
import type { Person } from "../../../src/frontend/mod.ts";
import { SessionBusyError } from "../../../src/session/mod.ts";
import { type FrontEnd, LiveSessions } from "../../../src/frontend/session/live_session.ts";
import type { Answer, OpenQuestion, QuestionEvent } from "../../../src/frontend/session/questions.ts";
import { SessionTexts } from "../../../src/frontend/session/texts.ts";
import { SessionHost } from "../../../src/frontend/session/session_host.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../../support/model_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const PROVIDER = `
[[providers]]
name = "scripted"
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "scripted-1"
`;

const SERVER = parsePlugin({ name: "docs", ...scriptedServer(), startup_timeout_seconds: 60 });

const PERSON: Person = { say() {}, speak: () => Promise.resolve() };

function contextOf(home: string, userHome: string): CliContext {
  const env: Record<string, string> = { HOME: userHome, REASONIX_HOME: home, REASONIX_LANG: "en" };
  const output = { write() {}, json() {}, exact() {} };
  return { process: { stdout: output, stderr: output, env } };
}

/** Opens the sessions of a process with this Reasonix home. */
function openerOf(home: string, userHome: string): OpenChat {
  return chatOpener(contextOf(home, userHome), {});
}

/** A home with directories next to it, and an opener. */
async function openerStage(config = PROVIDER) {
  const dir = await makeTempDir();
  const home = `${dir.path}/home`;
  for (const name of ["home", "one", "two", "more"]) await Deno.mkdir(`${dir.path}/${name}`);
  await Deno.writeTextFile(`${home}/config.toml`, config);
  const open = openerOf(home, dir.path);
  return {
    dir: dir.path,
    home,
    open: async (request: OpenRequest, person = PERSON) =>
      await open({ waitForServers: true, ...request }, person),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

Deno.test("chatOpener takes directory, roots and id of a session from the request", async () => {
  await using stage = await openerStage();
  const [directory, root] = [`${stage.dir}/one`, `${stage.dir}/more`];
  await using session = await stage.open({ directory, roots: [root], sessionId: "20260101-000000-abcd" });
  assertEquals(session.cwd, directory);
  assertEquals(session.workspace.roots, [directory, root]);
  await using other = await stage.open({ directory: `${stage.dir}/two` });
  assertEquals(other.workspace.roots, [`${stage.dir}/two`]);
  for (
    const [request, said] of [
      [{ directory: "one" }, 'Cannot open a session in "one": the path is relative'],
      [{ directory, roots: ["more"] }, 'Cannot open a session in "more": the path is relative'],
      [{ directory: `${stage.dir}/none` }, `Cannot work in ${stage.dir}/none: there is no such directory`],
      [{ directory, roots: [`${stage.home}/config.toml`] }, "it is not a directory"],
    ] as const
  ) {
    const error = await assertRejects(() => stage.open(request), ReasonixError);
    assertStringIncludes(error.message, said);
  }
});

Deno.test("chatOpener asks about trust in each directory, and keeps the answer there", async () => {
  await using stage = await openerStage();
  const asked: string[] = [];
  for (const [name, answer] of [["one", "ignore"], ["two", "trust"], ["one", "trust"]] as const) {
    const directory = `${stage.dir}/${name}`;
    await Deno.writeTextFile(`${directory}/reasonix.toml`, '[[plugins]]\nname = "near"\ncommand = "true"\n');
    const trust: Person["trust"] = () => {
      asked.push(name);
      return Promise.resolve(answer);
    };
    await using session = await stage.open({ directory }, { ...PERSON, trust });
    assertEquals(session.servers?.has("near") ?? false, name === "two");
  }
  assertEquals(asked, ["one", "two"]);
});

Deno.test("a session that replaces another one keeps directory, roots and servers of the client", async () => {
  await using stage = await openerStage();
  const [directory, root] = [`${stage.dir}/one`, `${stage.dir}/more`];
  const servers = [{ ...SERVER, enabled: false }];
  const host = new SessionHost(stage.open, () => {});
  await host.current({ directory, roots: [root], servers });
  const next = await host.replace({ effort: "high" });
  await next.open();
  const { session, paths, workspace, loaded } = next;
  assertEquals([paths.cwd, ...workspace.roots], [directory, directory, root]);
  assertEquals(listServers(loaded).map(({ name, source }) => `${name} ${source}`), ["docs client"]);
  const resumed = await host.replace({ resume: session.id });
  assertEquals([resumed.session.id, resumed.cwd], [session.id, directory]);
  await host.close();
});

Deno.test("servers of a client start next to the configured ones, and a failing one leaves them alone", async () => {
  const { command, args } = scriptedServer();
  const configured = ["docs", "mine"].map((name) =>
    `[[plugins]]\nname = "${name}"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`
  );
  await using stage = await openerStage(
    `${PROVIDER}[tools]\nmcp_startup_wait_seconds = 60\n${configured.join("")}`,
  );
  const directory = `${stage.dir}/one`;
  const servers: PluginEntry[] = [
    {
      ...SERVER,
      env: { DOCS_KEY: "docs-value-91x7", LEVEL: "plain" },
      args: [...SERVER.args, "--token", "args-value-4k2"],
    },
    { ...SERVER, name: "gone", command: `${stage.dir}/missing` },
    {
      ...SERVER,
      name: "far",
      type: "http",
      command: "",
      url: "http://127.0.0.1:9/mcp",
      headers: { Authorization: "Bearer far-value-33z", Accept: "application/json" },
    },
  ];
  for (const named of [{ sessionId: "with-servers" }, { resume: "with-servers" }]) {
    await using session = await stage.open({ directory, servers, ...named });
    const events: Event[] = [];
    session.controller.subscribe((event) => void events.push(event));
    // They start without a turn.
    const isReady = Promise.withResolvers<void>();
    session.servers?.watch(({ server, state }) =>
      server === "mine" && state === "ready" && isReady.resolve()
    );
    await isReady.promise;
    await session.open();
    await session.servers?.start();
    const status = session.servers?.status.map(({ name, state }) => `${name} ${state}`).sort();
    assertEquals(status, ["docs ready", "far failed", "gone failed", "mine ready"]);
    const shown = JSON.stringify(events);
    assertStringIncludes(shown, "MCP servers of the client: docs, gone, far");
    const failed = events.flatMap((event) =>
      event.type === "mcp.server" && event.state === "failed" ? [`${event.server}: ${event.detail}`] : []
    );
    assert(failed.some((text) => text.startsWith("gone: ") && text.includes("missing")), failed.join("\n"));
    assert(failed.some((text) => text.startsWith("far: ")), failed.join("\n"));
    const rows = listServers(session.loaded).map(({ name, source, state }) => `${name} ${source ?? state}`);
    assertEquals(rows, ["docs client", "gone client", "far client", "mine user", "docs left out"]);
    const text = "docs-value-91x7 args-value-4k2 far-value-33z application/json plain";
    assertEquals(session.redact(text), "[redacted] [redacted] [redacted] application/json plain");
  }
  await using other = await stage.open({ directory: `${stage.dir}/two` });
  assertEquals(listServers(other.loaded).map(({ name, source }) => `${name} ${source}`), [
    "docs user",
    "mine user",
  ]);
  assertEquals(other.redact("docs-value-91x7"), "docs-value-91x7");
});

/** A session of the test below: its mark is in its directory, its variables and its server alone. */
interface Side {
  readonly name: "one" | "two" | "three";
  readonly home: "hazel" | "maple";
  readonly mark: string;
  readonly trusts: boolean;
}

const SIDES: readonly Side[] = [
  { name: "one", home: "hazel", mark: "amber-7f3a9c", trusts: true },
  { name: "two", home: "hazel", mark: "birch-21d8e4", trusts: false },
  { name: "three", home: "maple", mark: "cedar-b06f55", trusts: true },
];

/** The variable in the file `.env` of each home: no command of its sessions gets it. */
const VARIABLES = { hazel: "HAZEL_LEVEL", maple: "MAPLE_LEVEL" } as const;

/** The turn that a message asks for: a call for `run: LINE`, `write: PATH`, `task: PROMPT` or `server:`. */
function obey({ json: { messages } }: RecordedRequest): Turn {
  const last = messages.at(-1);
  if (last.role === "tool") return { text: `done: ${String(last.content).slice(0, 40)}` };
  const [, verb, rest = ""] = /(run|write|task|server|say): ?(.*)$/m.exec(String(last.content)) ?? [];
  if (verb === "run") return { calls: [{ name: "bash", args: { command: rest } }] };
  if (verb === "write") return { calls: [{ name: "write_file", args: { path: rest, content: "made" } }] };
  if (verb === "task") return { calls: [{ name: "task", args: { prompt: rest } }] };
  if (verb === "server") return { calls: [{ name: "mcp__near__surroundings", args: {} }] };
  return { text: `answer ${rest}` };
}

function sideOf({ body }: RecordedRequest): Side {
  const side = SIDES.find(({ mark }) => body.includes(`The word is ${mark}`));
  assert(side, body.slice(0, 2000));
  return side;
}

/** An agent has a longer system prompt. */
function laneOf(request: RecordedRequest): string {
  return `${sideOf(request).name} ${request.json.messages[0].content.length}`;
}

/** Two homes and three directories, each with its own configuration and its own `.env`. */
async function makeSides(root: string, url: string): Promise<void> {
  const { command, args } = scriptedServer();
  for (const home of ["hazel", "maple"] as const) {
    await Deno.mkdir(`${root}/${home}`);
    await Deno.writeTextFile(`${root}/${home}/.env`, `${VARIABLES[home]}=saved-in-${home}-91\n`);
    await Deno.writeTextFile(
      `${root}/${home}/config.toml`,
      `[[providers]]
name = "scripted"
kind = "openai"
base_url = "${url}"
model = "model-${home}"
api_key_command = ["/bin/echo", "key-of-${home}-4411"]
[tools]
mcp_startup_wait_seconds = 60
[permissions]
allow = ["Edit", "Mcp", "Bash(echo:*)"]
`,
    );
  }
  for (const { name, mark } of SIDES) {
    const other = name === "one" ? "two" : "one";
    const files = {
      "AGENTS.md": `The word is ${mark}\n`,
      ".env": `MARK=${mark}\n`,
      "reasonix.toml":
        `[[plugins]]\nname = "near"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n` +
        'env = { MARK = "${MARK}" }\n',
      poke: `echo x > ${root}/${other}/from-${name}\n`,
      plant:
        "mkdir -p inner/.git/hooks && echo > inner/.git/HEAD && echo x >> inner/.git/config && echo planted\n",
    };
    await Deno.mkdir(`${root}/${name}`);
    for (const [file, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${root}/${name}/${file}`, text);
    }
  }
}

/** A person who allows commands for the session, and no directory and no unconfined command. */
function personOf(trusts: boolean, asked: string[]): Person {
  return {
    ...PERSON,
    trust: () => Promise.resolve(trusts ? "trust" : "ignore"),
    approver: {
      ask({ subject, directory, escape }) {
        const isCommand = directory === undefined && escape === undefined;
        asked.push(`${isCommand ? "command" : "sandbox"} ${subject}`);
        return Promise.resolve(
          isCommand ? { allow: true, scope: "session" } : { allow: false, scope: "once" },
        );
      },
    },
  };
}

const TURNS = Math.ceil(200 / SIDES.length);
/** Turns after which the work repeats. */
const ROUND = 40;

Deno.test("200 interleaved turns of sessions in one process show nothing of one in another", async () => {
  await using dir = await makeTempDir();
  const root = dir.path;
  await using server = startModelServer([], { fallback: obey, lane: laneOf });
  await makeSides(root, server.url);
  for (const name of Object.values(VARIABLES)) Deno.env.set(name, `process-${name}`);
  using _environment = {
    [Symbol.dispose]: () => Object.values(VARIABLES).forEach((name) => Deno.env.delete(name)),
  };
  const openers = {
    hazel: openerOf(`${root}/hazel`, root),
    maple: openerOf(`${root}/maple`, root),
  };
  let isConfined = false;
  await Promise.all(SIDES.map(async ({ name, home, mark, trusts }) => {
    const asked: string[] = [];
    const events: Event[] = [];
    const [directory, other] = [`${root}/${name}`, `${root}/${name === "one" ? "two" : "one"}`];
    const open = (request: OpenRequest) =>
      openers[home]({ directory, waitForServers: true, ...request }, personOf(trusts, asked));
    await using session = await open({});
    session.controller.subscribe((event) => void events.push(event));
    const work = [
      'run: echo "[$HAZEL_LEVEL][$MAPLE_LEVEL][$MARK]"; pwd; cat AGENTS.md',
      "server:",
      `write: ${other}/from-${name}`,
      "run: sh poke",
      "run: sh plant",
    ];
    for (let turn = 0; turn < TURNS; turn++) {
      await session.run(work[turn % ROUND] ?? `say: ${turn}`);
      if (turn === ROUND) await assertRejects(() => open({ resume: session.session.id }), SessionBusyError);
    }
    isConfined = session.confined;
    const rounds = Math.ceil(TURNS / ROUND);
    const results = events.filter((event) => event.type === "tool.end").map(({ content }) => content);
    assertEquals(results.length, rounds * work.length);
    const visible = Object.values(VARIABLES).map((each) => each === VARIABLES[home] ? "" : `process-${each}`);
    const seen = `[${visible.join("][")}][]\n${directory}\nThe word is ${mark}`;
    assertEquals(results.filter((text) => text === seen).length, rounds);
    const named = results.filter((text) =>
      text.includes(`"MARK":"${mark}"`) && text.includes(`"cwd":"${directory}"`)
    );
    assertEquals(named.length, trusts ? rounds : 0);
    assertEquals(results.filter((text) => text.startsWith("planted")).length, rounds);
    // An agent of the session may change the repository that the session made.
    await session.run("task: run: sh plant");
    const [task] = events.filter((event) => event.type === "tool.end").slice(-1);
    assert(task?.type === "tool.end" && task.content.includes("done: planted"), task?.content);
    const counts = (text: string) => asked.filter((each) => each === text).length;
    assertEquals([counts("command sh poke"), counts("command sh plant")], [1, 1]);
    assertEquals(counts(`sandbox ${other}`), rounds);
    if (isConfined) assertEquals(counts("sandbox sh poke"), rounds);
    const file = await Deno.readTextFile(session.session.paths.path);
    for (const text of [JSON.stringify(events), file]) {
      assertStringIncludes(text, mark);
      for (const side of SIDES.filter((each) => each.name !== name)) {
        assert(!text.includes(side.mark), `${name} shows ${side.mark}`);
        assert(
          side.home === home || !text.includes(`model-${side.home}`),
          `${name} shows model-${side.home}`,
        );
      }
      for (const secret of ["saved-in-", "key-of-"]) {
        assert(!text.includes(secret), `${name} shows ${secret}`);
      }
    }
  }));
  for (const { name } of SIDES) {
    if (isConfined) {
      assertEquals([...Deno.readDirSync(`${root}/${name}`)].filter((each) => /^from-/.test(each.name)), []);
    }
  }
  for (const request of server.requests) {
    const { mark, home } = sideOf(request);
    assertEquals(request.headers.get("authorization"), `Bearer key-of-${home}-4411`);
    assertEquals(request.json.model, `model-${home}`);
    for (const side of SIDES) assert(side.mark === mark || !request.body.includes(side.mark));
  }
  server.expectReset();
  // A repository that the first session cloned is protected from the commands of a later one.
  await using later = await openers.hazel({ directory: `${root}/one` }, personOf(true, []));
  const events: Event[] = [];
  later.controller.subscribe((event) => void events.push(event));
  await later.run("run: sh plant");
  const [planted = ""] = events.filter((event) => event.type === "tool.end").map(({ content }) => content);
  assertEquals(planted.startsWith("planted"), !isConfined);
});

/** Answers of a user of the setup wizard: a part of the question, and what is chosen or written. */
const SETUP_KEY = "sk-right-0123456789abcdef";

/** Runs the wizard by questions; answers are by the beginning of a question, used up in order. */
async function setUpByQuestions(
  home: string,
  userHome: string,
  answers: [string, string | undefined][],
  line?: string,
) {
  const events: (Event | QuestionEvent)[] = [];
  const said: string[] = [];
  const asked: string[] = [];
  const sessions = new LiveSessions({
    texts: await SessionTexts.load("en"),
    open: openerOf(home, userHome),
    setUp: (person) => setUpAt(contextOf(home, userHome), person),
  });
  const frontEnd: FrontEnd = {
    name: "page",
    setsUp: true,
    said: (text) => void said.push(text),
    event(event) {
      events.push(event);
      if (event.type !== "question.state" || event.state !== "opened") return;
      const [opened] = sessions.all.flatMap((live) => live.questions.open);
      if (!opened) return;
      asked.push(String((opened.question as { title: string }).title));
      let answer: Answer | undefined;
      try {
        answer = answerOf(opened, answers.shift());
      } finally {
        // Without an answer the wizard ends.
        sessions.all[0]?.questions.answer(opened.id, answer, "page");
      }
    },
    failed: (error) => void said.push(String(error)),
  };
  const live = await sessions.open({ directory: userHome }, (live) => void live.attach(frontEnd))
    .catch((error: unknown) => error);
  if (line !== undefined) {
    const end = await sessions.all[0]?.submissions.finish(
      { text: line, steer: false },
      AbortSignal.timeout(60_000),
    );
    assertEquals(end?.error, undefined);
  }
  const providers = sessions.all[0]?.assembly?.loaded.config.providers.map(({ name }) => name);
  const model = live instanceof Error ? undefined : sessions.all[0]?.assembly?.facts.model;
  const error = live instanceof ReasonixError ? live.message : undefined;
  await sessions.close();
  return { events: JSON.stringify(events), said, asked, model, providers, error };
}

function answerOf(
  { kind, question }: OpenQuestion,
  [about, answer]: [string, string | undefined] = ["no more questions", ""],
): Answer | undefined {
  assert(kind === "choose" || kind === "prompt", kind);
  assert(question.title.startsWith(about), `"${about}" is asked, not "${question.title}"`);
  if (kind === "prompt") {
    assertEquals(question.secret ?? false, about.startsWith("Key"));
    return answer;
  }
  return answer === undefined ? undefined : question.entries.findIndex(({ label }) => label === answer);
}

Deno.test("a front end without a terminal sets up a provider by questions, and no event has the key", async () => {
  await using dir = await makeTempDir();
  await using server = startModelServer([], {
    models: ["small-1", "large-1"],
    fallback: ({ headers }: RecordedRequest): Turn =>
      headers.get("authorization") === `Bearer ${SETUP_KEY}`
        ? { text: "Yes." }
        : { status: 401, body: { error: { message: "Incorrect API key provided" } } },
    check: { prefix: false },
  });
  const home = `${dir.path}/home`;
  const files = () =>
    [...Deno.readDirSync(home)].map(({ name }) => name).filter((name) => /toml|env/.test(name));
  await Deno.mkdir(home);
  // The user gives up: nothing is written, and the session says what it lacks.
  const left = await setUpByQuestions(home, dir.path, [["Which provider?", undefined]]);
  assertEquals([left.said, files()], [["Nothing was written"], []]);
  assertStringIncludes(left.error ?? "", "provider");
  const wrong = "sk-wrong-0123456789abcdef";
  const done = await setUpByQuestions(home, dir.path, [
    ["Which provider?", "Another OpenAI-compatible server"],
    ["Address of the API", "example.com"],
    ["Address of the API\nGive an address", `${server.url}/v1`],
    ["A name for it", " mine "],
    ["Key (saved as MINE_API_KEY", wrong],
    ["Model", "small-1"],
    ["What now?", "Type another key"],
    ["Key (saved as MINE_API_KEY", SETUP_KEY],
    ["Model", "large-1"],
    ["Context window", "64k"],
  ]);
  assertEquals(
    [done.error, done.said.join("\n").includes("AssertionError")],
    [undefined, false],
    done.said.join("\n"),
  );
  assertEquals([done.model?.provider, done.model?.id], ["mine", "large-1"]);
  assertStringIncludes(done.asked.find((title) => title.startsWith("What now?")) ?? "", "Incorrect API key");
  assertStringIncludes(await Deno.readTextFile(`${home}/.env`), SETUP_KEY);
  assertStringIncludes(await Deno.readTextFile(`${home}/config.toml`), "context_window = 64000");
  for (const secret of [SETUP_KEY, wrong]) {
    assert(!`${done.events}${done.said}${done.asked}`.includes(secret), `${secret} is shown`);
  }
  // Later one adds a provider; the session continues with its model.
  const more = await setUpByQuestions(home, dir.path, [
    ["Which provider?", "Another OpenAI-compatible server"],
    ["Address of the API", `${server.url}/v1`],
    ["A name for it", "other"],
    ["Key (saved as OTHER_API_KEY", SETUP_KEY],
    ["Model", "small-1"],
    ["Context window", "64k"],
    ["Use other for every run", "No"],
  ], "/setup");
  assertEquals([more.model?.id, more.providers], ["large-1", ["mine", "other"]]);
  assert(!`${more.events}${more.said}${more.asked}`.includes(SETUP_KEY));
});
