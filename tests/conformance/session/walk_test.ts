import { assertEquals } from "../../support/assert.ts";
import { type NewEvent, NO_USAGE } from "../../../src/core/mod.ts";
import { loadCheckpoints, loadManage, SessionLog } from "../../../src/session/mod.ts";
import type { Checkpoints } from "../../../src/session/mod.ts";
import { removeTree } from "../../support/remove_tree.ts";

type Tree = Map<string, string>;

/** A point to which the model can rewind: its files and conversation. */
interface Mark {
  readonly seq: number;
  readonly files: Tree;
  readonly talk: readonly string[];
  /** True if the program took a snapshot then; else the next such point has the state. */
  looked: boolean;
}

/** A period in which the program may have changed files. */
interface Stretch {
  readonly from: number;
  readonly changed: ReadonlySet<string>;
}

function readTree(root: string, below = ""): Tree {
  const tree: Tree = new Map();
  for (const entry of Deno.readDirSync(`${root}/${below}`)) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory) { for (const [name, text] of readTree(root, path)) tree.set(name, text); }
    else tree.set(path, Deno.readTextFileSync(`${root}/${path}`));
  }
  return tree;
}

function difference(a: Tree, b: Tree): Set<string> {
  const paths = new Set<string>();
  for (const path of new Set([...a.keys(), ...b.keys()])) if (a.get(path) !== b.get(path)) paths.add(path);
  return paths;
}

/** Session, workspace, and the expected state of both in a simple model. */
class Walk {
  readonly #home: string;
  readonly #root: string;
  #log: SessionLog;
  #points!: Checkpoints;
  #random: number;
  #clock = 0;
  #talk: string[] = [];
  #marks: Mark[] = [];
  #stretches: Stretch[] = [];
  readonly steps: Record<string, number> = {};

  constructor(home: string, seed: number) {
    this.#home = home;
    this.#root = `${home}/work`;
    Deno.mkdirSync(this.#root);
    this.#random = seed;
    this.#log = SessionLog.create({ home: `${home}/home`, cwd: this.#root, version: "1" });
  }

  #below(n: number): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.#random / 2 ** 32 * n);
  }

  async open(): Promise<void> {
    const { Checkpoints } = await loadCheckpoints();
    this.#points = Checkpoints.open({
      dir: this.#log.paths.dir,
      root: this.#root,
      seq: () => this.#log.state.lastSeq,
    });
  }

  async step(): Promise<void> {
    const moves = [
      ["tool", () => this.#turn(true)],
      ["shell", () => this.#turn(false)],
      ["shell", () => this.#turn(false)],
      ["user", () => Promise.resolve(this.#change())],
      ["rewind", () => this.#rewind("both")],
      ["talk", () => this.#rewind("conversation")],
      ["code", () => this.#rewind("code")],
      ["restart", () => this.#restart()],
      ["fork", () => this.#fork()],
    ] as const;
    const [name, move] = moves[this.#below(moves.length)] ?? moves[0];
    this.steps[name] = (this.steps[name] ?? 0) + 1;
    await move();
    this.#check(name);
  }

  #append(event: NewEvent): void {
    this.#log.append(event);
  }

  #change(): string {
    const names = ["a", "b", "c/d", "c/e", "f/g/h"];
    const path = names[this.#below(names.length)] ?? "a";
    const absolute = `${this.#root}/${path}`;
    const present = readTree(this.#root).has(path);
    const what = this.#below(4);
    if (present && what === 0) Deno.removeSync(absolute);
    else if (present && what === 1) Deno.renameSync(absolute, `${this.#root}/moved${this.#below(3)}`);
    else {
      Deno.mkdirSync(absolute.replace(/\/[^/]*$/, ""), { recursive: true });
      Deno.writeTextFileSync(absolute, `text ${this.#below(6)}`);
    }
    return path;
  }

  async #turn(byTool: boolean): Promise<void> {
    const n = this.#log.state.turns.length + 1;
    const text = `turn ${++this.#clock}`;
    const files = readTree(this.#root);
    this.#marks.push({ seq: this.#log.state.lastSeq, files, talk: [...this.#talk], looked: true });
    const from = this.#marks.length - 1;
    this.#append({ type: "turn.start", turn: n });
    this.#append({ type: "message.user", origin: "user", content: text });
    this.#talk.push(text);
    this.#points.begin(n);
    const point = byTool ? await this.#points.before(`${this.#root}/a`) : await this.#points.ready();
    if (point) this.#append({ type: "checkpoint", ...point });
    if (byTool) Deno.writeTextFileSync(`${this.#root}/a`, text);
    else for (let i = this.#below(4); i > 0; i--) this.#change();
    this.#append({
      type: "turn.end",
      turn: n,
      reason: "done",
      answer: "",
      steps: 0,
      usage: NO_USAGE,
      durationMs: 0,
    });
    await this.#points.end();
    this.#stretches.push({ from, changed: difference(files, readTree(this.#root)) });
  }

  async #rewind(scope: "both" | "conversation" | "code"): Promise<void> {
    const at = this.#below(this.#marks.length);
    const mark = this.#marks[at];
    if (!mark) return;
    const now = readTree(this.#root);
    const files = this.#marks.slice(at).find((later) => later.looked)?.files ?? now;
    const here: Mark = { seq: this.#log.state.lastSeq, files: now, talk: [...this.#talk], looked: false };
    this.#marks.push(here);
    const from = this.#marks.length - 1;
    if (scope !== "conversation") {
      const id = this.#points.checkpointFor(mark.seq);
      const expected = new Map(now);
      for (const stretch of this.#stretches) {
        if (stretch.from < at) continue;
        for (const path of stretch.changed) {
          const text = files.get(path);
          if (text === undefined) expected.delete(path);
          else expected.set(path, text);
        }
      }
      here.looked = id !== undefined;
      if (id !== undefined) {
        const report = await this.#points.restore(id);
        assertEquals(report.failed, []);
        this.#append({ type: "checkpoint", ...report.before });
      }
      const after = readTree(this.#root);
      assertEquals(Object.fromEntries(after), Object.fromEntries(expected));
      this.#stretches.push({ from, changed: difference(now, after) });
    }
    this.#append({ type: "rewind", to: mark.seq, scope });
    if (scope !== "code") this.#talk = [...mark.talk];
  }

  async #restart(): Promise<void> {
    this.#log.close();
    this.#log = SessionLog.open(this.#log.paths.path);
    await this.open();
  }

  /** Continues in a copy with the same points to rewind to. */
  async #fork(): Promise<void> {
    if (this.#log.state.lastSeq === 0) return;
    const { copySession } = await loadManage();
    this.#log.close();
    const place = copySession(this.#log.paths.path, { version: "1" });
    this.#log = SessionLog.open(place.path);
    await this.open();
  }

  #check(move: string): void {
    assertEquals(this.#log.state.messages.map((m) => m.content), this.#talk, `after ${move}`);
  }

  close(): void {
    this.#log.close();
  }
}

Deno.test("workspace and conversation equal a model after 300 random edits, undos, forks and restarts", async () => {
  for (const seed of [20260101, 7]) {
    const home = Deno.realPathSync(await Deno.makeTempDir({ prefix: "reasonix-walk-" }));
    const walk = new Walk(home, seed);
    try {
      await walk.open();
      for (let i = 0; i < 300; i++) await walk.step();
      assertEquals(Object.keys(walk.steps).length, 8);
    } finally {
      walk.close();
      await removeTree(home);
    }
  }
});
