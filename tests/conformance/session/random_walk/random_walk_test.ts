import { loadEvents, type SessionState } from "../../../../src/session/mod.ts";
import { checkPairing } from "../../../support/agent_fixture.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { Random, SEED } from "../../../support/seed.ts";
import { type Call, LiveSession } from "./live_session.ts";
import { Model, readTree } from "./model.ts";

const FILES = ["a.txt", "b.txt", "c/d.txt", "c/e.txt", "f/g/h.txt"];
const SCOPES = ["both", "code", "conversation"] as const;

class Walk {
  readonly #home: string;
  readonly #root: string;
  readonly #random: Random;
  #live!: LiveSession;
  readonly #model = new Model();
  #turns = 0;
  readonly counts: Record<string, number> = {};

  constructor(directory: string, seed: number) {
    this.#home = `${directory}/home`;
    this.#root = `${directory}/work`;
    Deno.mkdirSync(this.#root);
    this.#random = new Random(seed);
  }

  async begin(): Promise<void> {
    Deno.writeTextFileSync(`${this.#root}/a.txt`, "first");
    this.#live = await LiveSession.begin(this.#home, this.#root);
  }

  #below(n: number): number {
    return this.#random.below(n);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }

  async step(): Promise<void> {
    const moves = {
      edit: () => this.#turn(() => this.#edit()),
      shell: () => this.#turn(() => [this.#shell()]),
      mixed: () =>
        this.#turn(() =>
          this.#below(2) ? [this.#shell(), ...this.#edit()] : [...this.#edit(), this.#shell()]
        ),
      read: () => this.#turn(() => [{ name: "ls", args: {} }]),
      user: () => Promise.resolve(this.#user()),
      rewind: () => this.#rewind(),
      redo: () => this.#redo(),
      fork: () => this.#fork(),
      restart: () => this.#restart(),
      crash: () => this.#crash(),
    };
    const names = [
      "edit",
      "shell",
      "shell",
      "mixed",
      "read",
      "user",
      "rewind",
      "rewind",
      "redo",
      "redo",
      "fork",
      "restart",
      "crash",
    ] as const;
    const name = this.#pick(names);
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    await moves[name]();
    const { state } = this.#live.log;
    const output = state.messages.flatMap((message) => message.role === "user" ? [message.content] : []);
    assertEquals(output, this.#model.talk.map(({ text }) => text), `after ${name}`);
    checkPairing(state.messages);
  }

  /** Calls of tools that write files, each after reading the file. */
  #edit(): Call[] {
    const path = this.#pick(FILES);
    const there = path in readTree(this.#root);
    const read: Call[] = there ? [{ name: "read_file", args: { path } }] : [];
    if (there && this.#below(3) === 0) {
      return [{
        name: "move_file",
        args: { source_path: path, destination_path: `moved/${this.#below(1000)}.txt` },
      }];
    }
    return [...read, { name: "write_file", args: { path, content: `text ${this.#below(5)}\n` } }];
  }

  #shell(): Call {
    const path = this.#pick(FILES);
    const command = this.#pick([
      `mkdir -p "$(dirname ${path})" && echo ${this.#below(5)} > ${path}`,
      `rm -f ${path}`,
      `chmod +x ${path} 2>/dev/null; true`,
      `[ -f ${path} ] && mv ${path} away${this.#below(4)}; true`,
      `rm -rf c && mkdir -p c && echo new > c/e.txt`,
      `for f in *; do [ -f "$f" ] && echo more >> "$f"; done; true`,
      `false`,
    ]);
    return { name: "bash", args: { command } };
  }

  async #turn(calls: () => readonly Call[], crash = false): Promise<void> {
    const text = `turn ${++this.#turns}`;
    const before = readTree(this.#root);
    const start = this.#live.log.state.lastSeq + 1;
    const all = calls();
    // All in one reply, or one reply each.
    const steps = this.#below(2) ? [all] : all.map((call) => [call]);
    await this.#live.turn(text, steps, crash);
    if (crash) await this.#reopen();
    const { state } = this.#live.log;
    const failed = all.length > 0 &&
      state.messages.filter((m) => m.role === "tool" && m.content.startsWith("error: program"));
    assertEquals(failed, []);
    const end = state.turns.at(-1)?.to ?? NaN;
    const wrote = all.some(({ name }) => name !== "ls" && name !== "read_file");
    const after = crash ? {} : { after: readTree(this.#root) };
    this.#model.turn(text, { start, end }, { before, wrote, ...after });
  }

  #user(): void {
    const path = `${this.#root}/${this.#pick(FILES)}`;
    Deno.mkdirSync(path.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(path, `by hand ${this.#below(5)}`);
  }

  async #rewind(): Promise<void> {
    const turn = this.#below(this.#model.talk.length + 1);
    if (this.#model.talk.length === 0) return;
    const scope = this.#pick(SCOPES);
    const expected = this.#model.rewind(turn, scope, readTree(this.#root), this.#live.log.state.lastSeq);
    await this.#live.rewind(turn, scope);
    assertEquals(readTree(this.#root), expected, `rewind to ${turn}, ${scope}`);
  }

  async #redo(): Promise<void> {
    if (this.#model.redos === 0) return;
    const expected = this.#model.redo(readTree(this.#root), this.#live.log.state.lastSeq);
    await this.#live.redo();
    assertEquals(readTree(this.#root), expected, "redo");
  }

  async #fork(): Promise<void> {
    const turns = this.#model.talk.length;
    if (turns === 0) return;
    const turn = 1 + this.#below(turns);
    this.#model.fork(turn);
    this.#live = await this.#live.fork(turn);
  }

  async #restart(): Promise<void> {
    const before = essence(this.#live.log.state);
    await this.#reopen();
    assertEquals(essence(this.#live.log.state), before);
  }

  async #reopen(): Promise<void> {
    const { path } = this.#live.log.paths;
    this.#live.close();
    assertEquals(loadEvents(path).notices, []);
    this.#live = await LiveSession.open(path, this.#root);
  }

  async #crash(): Promise<void> {
    await this.#turn(() => this.#below(2) ? [this.#shell()] : this.#edit(), true);
  }

  close(): void {
    this.#live.close();
  }
}

function essence({ messages, turns, lastSeq, todos, usage }: SessionState): string {
  return JSON.stringify({ messages, turns, lastSeq, todos, usage });
}

for (const seed of [SEED, SEED + 1]) {
  Deno.test(`workspace and log equal a model on a walk of 300 steps of a real agent (seed ${seed})`, async () => {
    await using directory = await makeTempDir();
    const walk = new Walk(directory.path, seed);
    await walk.begin();
    try {
      for (let i = 0; i < 300; i++) await walk.step();
    } finally {
      walk.close();
    }
    assert(Object.keys(walk.counts).length === 10, JSON.stringify(walk.counts));
  });
}
