import type { RecordedRequest, Turn } from "../../support/model_server.ts";
import type { Random } from "../../support/seed.ts";

/** The effect of an executed call on the workspace. */
export interface Effect {
  readonly path: string;
  /** Text found in the file, or its whole content. */
  readonly text: string;
  readonly whole?: boolean;
}

type Call = NonNullable<Turn["calls"]>[number];

/** Files that one command rewrites at once. */
export const MANY = 30;

/** Replies of the scripted model: mostly mixed calls of tools that read, write and run commands. */
export class Script {
  /** By the call's id. */
  readonly effects = new Map<string, Effect>();
  /** The number of steps of a turn, and the most calls of a reply. */
  pace = { steps: 6, calls: 3 };
  readonly #random: Random;
  #ids = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  reply(request: RecordedRequest, steps: number): Turn {
    const usage = { input: Math.ceil(request.body.length / 4), output: 20 };
    const random = this.#random;
    if (steps >= this.pace.steps || random.below(7) === 0) return { text: this.#text(), usage };
    const count = 1 + random.below(this.pace.calls);
    const calls = Array.from({ length: count }, () => this.#call()).flat();
    return { ...(random.below(2) === 0 ? { text: this.#text() } : {}), calls, usage };
  }

  /** Replies of an agent that works on a part of the task: one command, then a word. */
  agentReply(request: RecordedRequest): Turn {
    const last = request.json.messages.at(-1);
    return last?.role === "tool" ? { text: "The part is done." } : { calls: [this.#mark()] };
  }

  summary(): Turn {
    return { text: [`Summary ${++this.#ids}: `, "what was done, ".repeat(20), "and what comes next."] };
  }

  /** Returns a short or a long text; sometimes more than one write takes. */
  #text(): string[] {
    const random = this.#random;
    const words = random.below(40) === 0 ? 12_000 : random.below(60);
    const text = `step ${++this.#ids}: ${"déjà vu ".repeat(words)}`;
    return text.match(/.{1,80}/gs) ?? [];
  }

  #call(): Call[] {
    const id = this.#id();
    const at = this.#random.below(13);
    if (at < 3) return [this.#mark()];
    if (at < 5) return [this.#write(id)];
    if (at < 7) return this.#edit(id);
    if (at === 7) return [bash(id, `for f in many/*; do echo ${id} > $f; done`)];
    if (at === 8) {
      return [bash(id, `rm -f many/f${this.#random.below(MANY)}.txt; mkdir -p a/b; echo ${id} > a/b/c`)];
    }
    if (at === 9) return [bash(id, `seq 1 ${1000 + this.#random.below(1500)}`)];
    if (at === 10) return [{ id, name: "read_file", args: { path: "seed.txt" } }];
    if (at === 11) {
      const todos = [{ content: `todo ${id}`, status: "pending" }];
      return [{ id, name: "todo_write", args: { todos } }];
    }
    if (this.#random.below(2) === 0) {
      return [{ id, name: "bash", args: { command: "sleep 600", run_in_background: true } }];
    }
    return [{ id, name: "task", args: { agent: "general", description: "a part", prompt: `part ${id}` } }];
  }

  /** A command that leaves its id in a file, at once or after a while. */
  #mark(): Call {
    const id = this.#id();
    const wait = this.#random.below(2) === 0 ? `sleep 0.0${this.#random.below(7)}; ` : "";
    this.effects.set(id, { path: "marks.txt", text: id });
    return bash(id, `${wait}echo ${id} >> marks.txt`);
  }

  #write(id: string): Call {
    const size = this.#random.below(8) === 0 ? 20_000 : 20;
    const content = `text ${id} 世界\n`.repeat(1 + this.#random.below(size / 10));
    this.effects.set(id, { path: `new/${id}.txt`, text: content, whole: true });
    return { id, name: "write_file", args: { path: `new/${id}.txt`, content } };
  }

  #edit(id: string): Call[] {
    this.effects.set(id, { path: "notes.txt", text: id });
    const args = { path: "notes.txt", old_string: "END", new_string: `${id}\nEND` };
    return [
      { id: this.#id(), name: "read_file", args: { path: "notes.txt", offset: 1, limit: 2 } },
      { id, name: "edit_file", args },
    ];
  }

  #id(): string {
    return `call-${++this.#ids}`;
  }
}

function bash(id: string, command: string): Call {
  return { id, name: "bash", args: { command } };
}
