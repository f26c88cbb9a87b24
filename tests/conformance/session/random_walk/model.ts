/**
 * The expected workspace and conversation in the simplest form: whole trees and lists, without code of the
 * program.
 */

/** Files by path; a leading "x" or "-" marks whether the file is executable. */
export type Tree = Readonly<Record<string, string>>;

export function readTree(root: string, below = ""): Tree {
  let tree: Record<string, string> = {};
  for (const entry of Deno.readDirSync(`${root}/${below}`)) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory) tree = { ...tree, ...readTree(root, path) };
    else {
      const mode = Deno.statSync(`${root}/${path}`).mode ?? 0;
      tree[path] = (mode & 0o111 ? "x" : "-") + Deno.readTextFileSync(`${root}/${path}`);
    }
  }
  return tree;
}

function difference(a: Tree, b: Tree): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((path) => a[path] !== b[path]);
}

/** A period in which the program changes files, with its initial tree. */
interface Stretch {
  /** Points up to this event are restored by undoing this period and all later ones. */
  seq: number;
  readonly files: Tree;
  /** Undefined while its end is unknown: the program was killed in it. */
  changed: readonly string[] | undefined;
}

interface Turn {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

interface Rewound {
  readonly from: number;
  readonly scope: string;
  readonly talk: readonly Turn[];
}

export class Model {
  talk: readonly Turn[] = [];
  #stretches: Stretch[] = [];
  #rewound: Rewound[] = [];

  get redos(): number {
    return this.#rewound.length;
  }

  /** A turn ran; `start` is its first event. A killed turn has no `after`. */
  turn(
    text: string,
    place: { start: number; end: number },
    files: { before: Tree; after?: Tree; wrote: boolean },
  ) {
    if (files.wrote) {
      this.#look(files.before);
      const changed = files.after && difference(files.before, files.after);
      this.#stretches.push({ seq: place.start, files: files.before, changed });
    }
    this.talk = [...this.talk, { text, ...place }];
    this.#rewound = [];
  }

  /**
   * The tree after restoring files to the end of a turn (0: before the first). `now` is the tree, `seq` the
   * last event.
   */
  rewind(turn: number, scope: string, now: Tree, seq: number): Tree {
    const to = turn === 0 ? (this.talk[0]?.start ?? NaN) - 1 : this.talk[turn - 1]?.end ?? NaN;
    const last = this.#rewound.at(-1);
    if (last && last.from === to && last.scope === scope) return this.redo(now, seq);
    const expected = scope === "conversation" ? now : this.#restore(to, now, seq);
    this.#rewound.push({ from: seq, scope, talk: this.talk });
    if (scope !== "code") this.talk = this.talk.slice(0, turn);
    return expected;
  }

  redo(now: Tree, seq: number): Tree {
    const last = this.#rewound.pop();
    if (!last) throw new Error("Nothing to redo");
    if (last.scope !== "code") this.talk = last.talk;
    return last.scope === "conversation" ? now : this.#restore(last.from, now, seq);
  }

  #restore(to: number, now: Tree, seq: number): Tree {
    const at = this.#stretches.findIndex((stretch) => stretch.seq >= to);
    if (at < 0) return now;
    this.#look(now);
    const expected: Record<string, string> = { ...now };
    const moment = this.#stretches[at]?.files ?? {};
    for (const path of new Set(this.#stretches.slice(at).flatMap(({ changed }) => changed ?? []))) {
      // Known from the first stretch on that saw it: only the program changed it in between, or it is
      // the user's.
      const text = moment[path];
      if (text === undefined) delete expected[path];
      else expected[path] = text;
    }
    this.#stretches.push({ seq, files: now, changed: difference(now, expected) });
    return expected;
  }

  /** Changes since the kill of the program are attributed to it, up to the next snapshot. */
  #look(now: Tree): void {
    const last = this.#stretches.at(-1);
    if (last && last.changed === undefined) last.changed = difference(last.files, now);
  }

  /** Continues in a copy that ends with a turn. */
  fork(turn: number): void {
    this.talk = this.talk.slice(0, turn);
    const end = this.talk.at(-1)?.end ?? 0;
    for (const stretch of this.#stretches) stretch.seq = Math.min(stretch.seq, end);
    this.#rewound = [];
  }
}
