/**
 * 200 turns of one session in four processes, built from the parts of a run. Each request that does not
 * extend the previous one has exactly one declared cause, and each cause has one such request.
 */
import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import type { ConfigInput } from "../../../src/config/mod.ts";
import type { Event, EventOf, EventType } from "../../../src/core/mod.ts";
import type { PermissionMode } from "../../../src/permission/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { isSummaryRequest, serverTokens } from "../../support/context_fixture.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { prefixProblem, rawList, rawMessages } from "../../support/model_checks.ts";
import {
  type ModelServer,
  type RecordedRequest,
  startModelServer,
  type Turn,
} from "../../support/model_server.ts";
import { keysBackwards, ownClock, ownDirectoryOrder } from "../../support/replaced_clock.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const TURNS = 200;
/** Turns before which the session continues in another process; with the second one another model answers. */
const RESTARTS = [45, 100, 153];
/** Turns in which a server changes its tools. */
const CHANGES = [62, 143];
/** Turns of many steps in which the list is not read. */
const LONG = [35, 130];
const HOURS = 5 * 3_600_000;

type Call = NonNullable<Turn["calls"]>[number];

/** The calls of the model in a turn, one per step. */
function callsOf(turn: number): Call[] {
  const ls: Call = { name: "ls", args: { path: "." } };
  if (CHANGES.includes(turn)) return [{ name: "mcp__alpha__change", args: {} }];
  const items = ["Parse", "Ändern 解析器 🧪", `Test ${turn}`];
  const write = {
    name: "todo_write",
    args: { todos: items.map((content) => ({ content, status: "pending" })) },
  };
  if (LONG.includes(turn)) return [write, ...Array.from({ length: 14 }, () => ls)];
  return [
    [write, ls],
    [{ name: "read_file", args: { path: `pkg${turn % 7}/x.ts` } }],
    [{ name: "mcp__alpha__echo", args: { text: `turn ${turn}` } }, {
      name: "mcp__beta__echo",
      args: { text: "again" },
    }],
    [ls, ls],
    [],
  ][turn % 5] ?? [];
}

/** The mode that the user selects in a turn. */
function modeOf(turn: number): PermissionMode | undefined {
  if (turn % 9 === 4) return turn % 5 === 0 ? "plan" : "read-only";
  return turn % 9 === 7 ? "workspace-write" : undefined;
}

/** Recorded events, with the number of requests sent before each. */
interface Seen {
  readonly event: Event;
  readonly requests: number;
}

class World {
  readonly seen: Seen[] = [];
  readonly server: ModelServer;
  turn = 0;
  #step = 0;
  assembly: Assembly | undefined;
  #listed = Promise.withResolvers<void>();
  #ready = Promise.withResolvers<void>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    // The test checks all of it afterwards, including declared resets.
    this.server = startModelServer([], {
      fallback: (request) => this.#reply(request),
      check: { prefix: false },
    });
  }

  get cwd(): string {
    return `${this.#root}/work`;
  }

  /** Opens the session like the next process, with everything in another order. */
  async open(number: number, isNew = number === 0): Promise<void> {
    const home = `${this.#root}/home`;
    const plugins = ["alpha", "beta"].map((name) => ({ name, ...scriptedServer({ shuffled: true }) }));
    const config: ConfigInput = {
      default_model: number >= 2 ? "mock/mock-2" : "mock/mock-1",
      providers: [{
        name: "mock",
        kind: "openai",
        base_url: this.server.url,
        models: ["mock-1", "mock-2"],
        context_window: 24_000,
      }],
      permissions: { allow: ["Mcp"] },
      sandbox: { bash: "off" },
      plugins: number % 2 ? plugins.reverse() : plugins,
    };
    const flags = number % 2 ? keysBackwards(config) : config;
    const paths = { cwd: this.cwd, home, env: (name: string) => Deno.env.get(name) };
    const loaded = await loadTrustedConfig({ ...paths, flags, noFiles: true }, {});
    const assembly = await assemble({
      paths,
      loaded,
      onAsk: "deny",
      continue: !isNew,
    });
    this.#ready = Promise.withResolvers();
    let starting = plugins.length;
    assembly.controller.subscribe((event) => {
      this.seen.push({ event, requests: this.server.requests.length });
      if (event.type !== "mcp.server") return;
      if (event.state === "ready" && event.durationMs !== undefined && --starting === 0) {
        this.#ready.resolve();
      }
      if (CHANGES.includes(this.turn) && event.server === "alpha" && event.tools === 12) {
        this.#listed.resolve();
      }
    });
    this.assembly = assembly;
  }

  /** All servers of this process have listed their tools. */
  serversReady(): Promise<void> {
    return this.#ready.promise;
  }

  async run(turn: number): Promise<void> {
    [this.turn, this.#step] = [turn, 0];
    this.#listed = Promise.withResolvers();
    const mode = modeOf(turn);
    if (mode && turn % 2 === 0) await this.assembly?.modes.setPermission(mode);
    const outcome = await this.assembly?.run(`Turn ${turn}`);
    assertEquals([turn, outcome?.reason, outcome?.answer], [turn, "done", `Answer ${turn}`]);
    if (CHANGES.includes(turn)) await this.#listed.promise;
  }

  async #reply(request: RecordedRequest): Promise<Turn> {
    const usage = { input: serverTokens(request), output: 20 };
    if (isSummaryRequest(request)) return { text: "Goal: continue", usage };
    const mode = modeOf(this.turn);
    // The user switches while the model is working.
    if (mode && this.turn % 2 === 1 && this.#step === 0) await this.assembly?.modes.setPermission(mode);
    const call = callsOf(this.turn)[this.#step++];
    return call ? { calls: [call], usage } : { text: `Answer ${this.turn}`, usage };
  }

  all<T extends EventType>(type: T): EventOf<T>[] {
    return this.seen.map(({ event }) => event).filter((event): event is EventOf<T> => event.type === type);
  }

  /** Texts that the program appended, by tag. */
  late(tag: string): string[] {
    return this.all("message.user").flatMap(({ content }) => content.startsWith(`<${tag}`) ? [content] : []);
  }

  /** System prompt and tools of a request. */
  head(at: number): string {
    const body = this.server.requests.at(at)?.body ?? "";
    return rawList(body, "tools") + JSON.stringify(JSON.parse(body).messages[0]);
  }

  /** Numbers of the requests that do not extend the previous one, and of the declared resets. */
  departures(): { readonly actual: number[]; readonly declared: number[] } {
    const bodies = this.server.requests.map(({ body }) => body);
    const isOther = (body: string, before: string) =>
      rawList(body, "tools") !== rawList(before, "tools") || modelOf(body) !== modelOf(before) ||
      prefixProblem(rawMessages(before), rawMessages(body)) !== undefined;
    const actual = bodies.flatMap((body, at) => at > 0 && isOther(body, bodies[at - 1] ?? "") ? [at] : []);
    const declared = this.seen.flatMap(({ event: { type }, requests }) =>
      type === "compaction" || (type === "context.prefix" && requests > 0) ? [requests] : []
    );
    return { actual, declared: [...new Set(declared)] };
  }
}

function modelOf(body: string): string {
  return JSON.parse(body).model;
}

/** Changes the environment of the agent before a turn; returns the changes to be reported. */
async function changeSurroundings(cwd: string, turn: number): Promise<string> {
  const branch = `branch-${turn - turn % 25}`;
  await Deno.mkdir(`${cwd}/.git`, { recursive: true });
  await Deno.writeTextFile(`${cwd}/.git/HEAD`, `ref: refs/heads/${branch}`);
  if (turn % 25 === 0) {
    const directory = `${cwd}/pkg${(turn / 25 * 2) % 7}`;
    await Deno.mkdir(directory, { recursive: true });
    await Deno.writeTextFile(`${directory}/AGENTS.md`, `Rules of turn ${turn}`);
    await Deno.writeTextFile(`${directory}/x.ts`, "text of the file\n".repeat(25));
  }
  const now = new Date();
  const pad = (part: number) => String(part).padStart(2, "0");
  return `${now.getFullYear()}-${pad(now.getMonth() + 1)}-${pad(now.getDate())} ${branch}`;
}

async function addSkills(home: string): Promise<void> {
  for (const name of ["zeta", "alpha", "middle"]) {
    await Deno.mkdir(`${home}/skills/${name}`, { recursive: true });
    const text = `---\nname: ${name}\ndescription: Does ${name}\n---\n\nDo it.\n`;
    await Deno.writeTextFile(`${home}/skills/${name}/SKILL.md`, text);
  }
}

Deno.test("over 200 turns each request extends the last one except after declared resets", async () => {
  await using temp = await makeTempDir();
  using clock = ownClock();
  using order = ownDirectoryOrder();
  const scene = new World(await Deno.realPath(temp.path));
  await Deno.mkdir(scene.cwd);
  await addSkills(`${temp.path}/home`);
  const environments: string[] = [];
  try {
    for (let turn = 0; turn < TURNS; turn++) {
      clock.forward(HOURS);
      environments.push(await changeSurroundings(scene.cwd, turn));
      const process = [0, ...RESTARTS].indexOf(turn);
      if (process >= 0) {
        await scene.assembly?.[Symbol.asyncDispose]();
        order.backwards = process % 2 === 1;
        await scene.open(process);
      }
      await scene.run(turn);
      if (process >= 0) await scene.serversReady();
    }
    assertResets(scene);
    assertLateMessages(scene, environments);
    await assertSameHead(scene, order);
  } finally {
    await scene.assembly?.[Symbol.asyncDispose]();
    await scene.server.close();
  }
});

/** Requests differ from the previous one exactly at declared resets, as often as caused. */
function assertResets(scene: World): void {
  const { actual, declared } = scene.departures();
  assertEquals(actual, declared);
  assertEquals(scene.all("context.prefix").map(({ reason, detail }) => [reason, detail]), [
    ["start", undefined],
    // The todo list of the session needs them.
    ["tools", "+8"],
    ["tools", "+mcp__alpha__late"],
    ["model", "mock-1 → mock-2"],
    // The next process starts a server that has the tools it began with.
    ["tools", "−mcp__alpha__late"],
    ["tools", "+mcp__alpha__late"],
    ["tools", "−mcp__alpha__late"],
  ]);
  const summaries = scene.server.requests.filter(isSummaryRequest).length;
  assert(summaries >= 3, `${summaries} summaries`);
  assertEquals(
    scene.all("compaction").map(({ reason, action = "fold" }) => `${reason} ${action}`),
    Array.from({ length: summaries }, () => "pressure fold"),
  );
  assertEquals(actual.length, summaries + 6);
}

/** A new session has the same prompt prefix, at any time and for any order of discovery. */
async function assertSameHead(scene: World, order: { backwards: boolean }): Promise<void> {
  for (const number of [1, 2]) {
    await scene.assembly?.[Symbol.asyncDispose]();
    order.backwards = number === 1;
    await scene.open(number, true);
    const requests = scene.server.requests.length;
    await scene.assembly?.run("Turn again");
    assertEquals(scene.head(requests), scene.head(0));
  }
}

/** Every change was reported once, at the end of the messages. */
function assertLateMessages(scene: World, environments: readonly string[]): void {
  const switches = Array.from({ length: TURNS }, (_, turn) => modeOf(turn)).filter((mode) =>
    mode !== undefined
  );
  assertEquals(scene.all("mode.change").map(({ mode }) => mode), switches);
  assertEquals(scene.late("mode>").length, switches.length);
  const changed = environments.filter((now, at) => now !== environments[at - 1]);
  assertEquals(
    scene.late("environment>").map((text) => /date: (\S+)\ngit branch: (\S+)/.exec(text)?.slice(1).join(" ")),
    changed,
  );
  assertEquals(scene.late("instructions>"), [], "the standing instructions are the same in all processes");
  const directories = scene.late("instructions folder=");
  assertEquals(new Set(directories).size, directories.length);
  assert(directories.length >= 3, `${directories.length} directories`);
  // Each list of every fifth turn: with the turn after it or later in a long one, and again only when a
  // compaction took that message.
  assertEquals(new Set(scene.late("todos>")).size, TURNS / 5);
  const standing = new Set<string>();
  for (const { event } of scene.seen) {
    if (event.type === "compaction") standing.clear();
    if (event.type !== "message.user" || event.origin !== "reminder") continue;
    assert(!standing.has(event.content), `sent twice: ${event.content}`);
    standing.add(event.content);
  }
}
