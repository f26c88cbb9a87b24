import { lastSession, type LoadedEvents, loadEvents, projectDir } from "../../../src/session/mod.ts";
import type { Event } from "../../../src/core/mod.ts";
import { agentOf } from "../../support/agents_stage.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  type ModelServer,
  type RecordedRequest,
  startModelServer,
  type Turn,
} from "../../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../../support/program.ts";
import { type Aim, aimAt, type Target, targets, Trigger } from "./aims.ts";
import { countOf, difference, readTree, sizeOf, type Tree } from "./files.ts";
import { type Journey, Journeys } from "./journeys.ts";
import { Random } from "../../support/seed.ts";
import { MANY, Script } from "./script.ts";
import { type Killed, phaseOf } from "./phases.ts";
import { checkRefusals, settled, Victim } from "./victim.ts";
import { asksForSummary, checkRequest, checkShown, Witness } from "./witness.ts";

/** Only the person changes this one; no rewind touches it. */
const OWN = "own.txt";

export interface ChainOptions {
  readonly seed: number;
  /** Points to aim at; absent: all. */
  readonly only?: readonly Target[];
}

/** One home and one workspace in which the program is started and killed repeatedly. */
export class Chain implements AsyncDisposable {
  readonly kills: Killed[] = [];
  readonly #random: Random;
  readonly #script: Script;
  readonly #world: World;
  readonly #server: ModelServer;
  readonly #witness: Witness;
  readonly #journeys: Journeys;
  readonly #victims = new Map<string, { readonly victim: Victim; readonly trigger: Trigger }>();
  #tree: Tree = new Map();
  #own = "mine\n";
  #tasks = 0;
  #targets: Target[] = [];
  readonly #only: readonly Target[] | undefined;
  #problem: unknown;

  private constructor(
    { seed, only }: ChainOptions,
    world: World,
    server: (chain: () => Chain) => ModelServer,
  ) {
    this.#only = only;
    this.#random = new Random(seed);
    this.#script = new Script(this.#random);
    this.#journeys = new Journeys(this.#random);
    this.#world = world;
    this.#server = server(() => this);
    this.#witness = new Witness(`${projectDir(world.home, world.dir)}/sessions`);
  }

  static async begin(options: ChainOptions): Promise<Chain> {
    const world = await makeWorld();
    const chain = new Chain(
      options,
      world,
      (self) =>
        startModelServer([], {
          check: { prefix: false },
          fallback: (request) => self().#answer(request),
        }),
    );
    const config = mockConfig(chain.#server.url, "", "context_window = 60000");
    await Deno.writeTextFile(`${world.home}/config.toml`, config);
    await world.write("seed.txt", "seed\n");
    await world.write("marks.txt", "");
    await world.write("notes.txt", "BEGIN\nEND\n");
    for (let at = 0; at < MANY; at++) await world.write(`many/f${at}.txt`, `old ${at}\n`);
    chain.#tree = chain.#readFiles();
    await world.write(OWN, chain.#own);
    return chain;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#server.close();
    } finally {
      await this.#world[Symbol.asyncDispose]();
    }
  }

  /** Starts the program until it was killed `kills` times, and checks everything after each kill. */
  async run(kills: number): Promise<void> {
    for (let link = 0; this.kills.length < kills; link++) {
      assert(link < kills * 4 + 40, `${link} starts, only ${this.kills.length} kills`);
      if (this.#targets.length === 0) this.#targets = targets(this.#random, this.#only);
      await this.#link(this.#targets.pop() ?? "start");
      if (this.#problem) throw this.#problem;
      assertEquals(this.#server.violations, []);
    }
    await this.#finish();
  }

  async #link(target: Target): Promise<void> {
    const session = this.#session();
    const aim = aimAt(target, this.#random);
    if (target === "rewind" || this.#journeys.current && this.#random.below(2) === 0) {
      const journey = session && this.#journeys.plan(session.state, this.#tree);
      if (journey) return await this.#travel(journey, aim);
    }
    const args = this.#runArgs(target, session?.state);
    this.#script.pace = { steps: target === "exit" ? 2 : 6, calls: target === "between" ? 1 : 3 };
    const before = this.#tree;
    const victims = [await this.#start(args, aim)];
    if (session && target === "concurrent") {
      await new Promise((resolve) => setTimeout(resolve, this.#random.below(150)));
      const other = aimAt("concurrent", this.#random);
      victims.push(await this.#start(["run", "--output-format", "jsonl", "-c", this.#task()], other));
    }
    await this.#death(victims);
    const { events, ofAgents } = this.#look(victims);
    this.#witness.checkEffects([...events, ...ofAgents], this.#script.effects, this.#tree);
    checkRefusals(victims);
    const turn = this.#session()?.state.turns.at(-1)?.from;
    this.#journeys.wentOn(events, { turn, before, after: this.#tree });
    if (victims.every(({ code }) => code === 0)) this.#ownChange();
  }

  /** Returns the arguments of the program for a turn or a compaction. */
  #runArgs(target: Target, state: LoadedEvents["state"] | undefined): string[] {
    const args = ["run", "--output-format", "jsonl"];
    const random = this.#random;
    const session = state && lastSession(projectDir(this.#world.home, this.#world.dir));
    if (!session) return [...args, this.#task()];
    const way = random.below(6);
    const which = way === 0 ? ["--resume", session.id] : way === 1 ? ["--resume", session.path] : ["-c"];
    const copy = target === "copy" ? ["--copy"] : [];
    const isCompaction = target === "compaction" && random.below(4) > 0;
    return [...args, ...which, ...copy, isCompaction ? "/compact keep the names" : this.#task()];
  }

  #task(): string {
    return `task ${++this.#tasks}.`;
  }

  /** A rewind or redo. Once its event is recorded, the files are restored even after a kill. */
  async #travel(journey: Journey, aim: Aim): Promise<void> {
    const victim = await this.#start(journey.args, aim);
    await this.#death([victim]);
    const { events } = this.#look([victim]);
    if (victim.signal === undefined) {
      assertEquals([victim.code, victim.stderr], [0, ""], journey.args.join(" "));
    }
    if (!events.some(({ type }) => type === "rewind")) return;
    this.#expectTree(journey.wanted, journey.args.join(" "));
    this.#expectNoLitter();
    this.#journeys.arrived();
  }

  /** A rewind writes temporary files next to their targets; the next read of the session removes them. */
  #expectNoLitter(): void {
    const name = `.reasonix-${this.#lastPath()?.split("/").at(-1)?.replace(/\.jsonl$/, "")}.tmp`;
    const left = [...readTree(this.#world.dir).keys()].filter((path) => path.endsWith(name));
    assertEquals(left, [], "files of a killed rewind are left");
  }

  #expectTree(wanted: Tree, after: string): void {
    assertEquals(difference(wanted, this.#tree), "", `files after ${after}`);
  }

  async #start(args: readonly string[], aim: Aim): Promise<Victim> {
    const path = this.#lastPath();
    const sessions = `${projectDir(this.#world.home, this.#world.dir)}/sessions`;
    const size = args.includes("--copy")
      ? () => countOf(sessions)
      : () => sizeOf(args[0] === "session" ? snapshotsOf(path) : path ?? "");
    const slot: { victim?: Victim } = {};
    const trigger = new Trigger(aim, size, () => slot.victim?.kill());
    const victim = await Victim.start(this.#world, args, (text) => trigger.line(text));
    slot.victim = victim;
    this.#victims.set(args.at(-1) ?? "", { victim, trigger });
    return victim;
  }

  /** Waits until all programs and their children are dead. */
  async #death(victims: readonly Victim[]): Promise<void> {
    const late = setTimeout(() => {
      this.#problem ??= new Error(`${victims.map(({ args }) => args.join(" "))} did not end`);
      for (const victim of victims) victim.kill();
    }, 60_000);
    await Promise.all(victims.map(({ ended }) => ended));
    clearTimeout(late);
    for (const { trigger } of this.#victims.values()) trigger.stop();
    this.#victims.clear();
    const mark = this.#world.dir.split("/").at(-2) ?? "";
    assertEquals(await settled(victims, mark), [], "a process is left");
  }

  /** Reads the state after the kills: the new events and the files. */
  #look(
    victims: readonly Victim[],
  ): { readonly events: readonly Event[]; readonly ofAgents: readonly Event[] } {
    const added = this.#witness.look();
    const path = this.#lastPath();
    if (path) { for (const victim of victims) checkShown(path, victim.shown()); }
    const events = path === undefined ? [] : added.get(path) ?? [];
    for (const victim of victims) {
      if (victim.signal === "SIGKILL") this.kills.push(phaseOf(victim, events, victims.length));
    }
    const tree = this.#readFiles();
    assertEquals(tree.get(OWN), this.#own, "a file that only the person changes");
    tree.delete(OWN);
    this.#tree = tree;
    const marks = tree.get("marks.txt")?.trim().split("\n") ?? [];
    assertEquals(new Set(marks).size, marks.length, "a command ran twice");
    return { events, ofAgents: [...added].flatMap(([file, more]) => file === path ? [] : more) };
  }

  #answer(request: RecordedRequest): Turn {
    if (agentOf(request) !== undefined) return this.#script.agentReply(request);
    const texts: string[] = request.json.messages.map(({ content }: { content: unknown }) => String(content));
    const prompt = texts.findLast((text) => /^task \d+\.$/.test(text)) ?? "";
    const isSummary = asksForSummary(request);
    const found = this.#victims.get(prompt) ?? (isSummary ? [...this.#victims.values()][0] : undefined);
    // Requests of a killed program may arrive only now.
    if (!found) return { text: "too late" };
    const { victim, trigger } = found;
    try {
      const path = this.#lastPath();
      if (path) checkRequest(request, loadEvents(path));
    } catch (error) {
      this.#problem ??= error;
    }
    if (isSummary) victim.summaries++;
    else victim.asked++;
    const turn = isSummary ? this.#script.summary() : this.#script.reply(request, victim.asked);
    return trigger.answer(turn, isSummary, () => isSummary || victim.begun++);
  }

  /** The person changes a file after the program has recorded the workspace. */
  #ownChange(): void {
    try {
      const last = Deno.readTextFileSync(snapshotsOf(this.#lastPath())).trim().split("\n").at(-1) ?? "";
      if (!/"kind":"(?:end|restored)"/.test(last)) return;
    } catch {
      return;
    }
    this.#own = `mine ${this.#tasks}\n`;
    Deno.writeTextFileSync(`${this.#world.dir}/${OWN}`, this.#own);
  }

  #readFiles(): Map<string, string> {
    const tree = readTree(this.#world.dir);
    for (const path of tree.keys()) if (/\.reasonix-[\w-]+\.tmp$/.test(path)) tree.delete(path);
    return tree;
  }

  #lastPath(): string | undefined {
    return lastSession(projectDir(this.#world.home, this.#world.dir))?.path;
  }

  #session(): LoadedEvents | undefined {
    const path = this.#lastPath();
    return path === undefined ? undefined : loadEvents(path);
  }

  /** Checks that the session still works: list, search, the files of each turn, another turn. */
  async #finish(): Promise<void> {
    const ok = async (...args: string[]) => {
      const { code, stdout, stderr } = await this.#world.run(args);
      assertEquals([code, stderr], [0, ""], args.join(" "));
      return stdout;
    };
    assert(JSON.parse(await ok("session", "list", "--json")).length > 0);
    await ok("session", "search", "task");
    const before = this.#journeys.current?.from ?? this.#tree;
    const session = this.#session();
    const places = session ? this.#journeys.places(session.state) : [];
    const some = places.length > 0 ? [this.#random.pick(places)] : [];
    for (const [turn, files] of [...some, ...places.slice(0, 1)]) {
      await ok("session", "rewind", "--code", "--to", String(turn));
      this.#look([]);
      this.#expectTree(files, `rewind to ${turn}`);
    }
    for (const _ of some) await ok("session", "redo");
    for (const _ of some) await ok("session", "redo");
    this.#look([]);
    this.#expectTree(before, "both taken back");
    const last = await this.#world.run(["run", "-c", "--output-format", "json", this.#task()]);
    assertEquals([last.code, last.stderr], [0, ""]);
  }
}

function snapshotsOf(path = ""): string {
  return path.replace(/\.jsonl$/, "/checkpoints/snapshots.jsonl");
}
