/** The paths of a call that the gate checks are those that the tool accesses on disk. */
import { FactStore } from "../../../src/memory/store.ts";
import { createGate, type PermissionGate } from "../../../src/permission/mod.ts";
import type { PreparedCall } from "../../../src/core/mod.ts";
import { realPath } from "../../../src/path/real_path.ts";
import { createPathMatcher, type PathMatcher } from "../../../src/rule/mod.ts";
import { createWorkspace, type Workspace } from "../../../src/sandbox/mod.ts";
import {
  BUILTINS,
  type FileReadTracker,
  openServices,
  ToolRegistry,
  type ToolResult,
  type WorkspacePolicy,
} from "../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { Random, SEED, soakSize } from "../../support/seed.ts";
import { anyPatch, ARGUMENTS, TREE } from "./touched_calls.ts";
import { removeTree } from "../../support/remove_tree.ts";

const RECORDS = soakSize(10_000, 1000);
const registry = new ToolRegistry(BUILTINS, [], { enabled: BUILTINS.map(({ name }) => name) });
const EDITORS = BUILTINS.filter(({ family }) => family === "Edit").map(({ name }) => name);
const SEARCHES = ["ls", "glob", "grep"];
const signal = new AbortController().signal;

/** A tree that is restored after each call that changed it. */
class Disk {
  readonly ws: string;
  readonly #base: string;
  readonly #before: ReadonlyMap<string, string>;

  constructor(base: string) {
    this.#base = base;
    Deno.mkdirSync(base);
    this.ws = `${base}/ws`;
    Deno.writeTextFileSync(`${base}/outside.txt`, "token-outside");
    Deno.mkdirSync(`${base}/home`);
    this.#fill();
    this.#before = this.#look(base);
  }

  #fill(): void {
    for (const [path, text] of Object.entries(TREE)) {
      const whole = `${this.ws}/${path}`;
      Deno.mkdirSync(whole.replace(/\/[^/]*$/, ""), { recursive: true });
      if (text.startsWith("-> ")) Deno.symlinkSync(text.slice(3), whole);
      else Deno.writeTextFileSync(whole, text);
    }
  }

  #look(directory: string, found = new Map<string, string>()): Map<string, string> {
    for (const entry of Deno.readDirSync(directory)) {
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory) {
        found.set(path, "directory");
        this.#look(path, found);
      } else if (entry.isSymlink) found.set(path, `-> ${Deno.readLinkSync(path)}`);
      else found.set(path, `${Deno.lstatSync(path).mode} ${Deno.readTextFileSync(path)}`);
    }
    return found;
  }

  /** Returns the differences from the beginning, and restores the files. */
  takeChanges(): string[] {
    const now = this.#look(this.#base);
    const changed = [...new Set([...this.#before.keys(), ...now.keys()])]
      .filter((path) => this.#before.get(path) !== now.get(path));
    if (changed.length > 0) {
      Deno.removeSync(this.ws, { recursive: true });
      this.#fill();
    }
    return changed;
  }
}

/** A gate and a workspace that protect one file from writing and reading. */
interface Guarded {
  readonly file: string;
  readonly edits: PermissionGate;
  readonly reads: PermissionGate;
  readonly hiding: Workspace;
}

function guard(ws: string, home: string, file: string): Guarded {
  const gate = (rule: string) =>
    createGate({
      policy: { mode: "allow", allow: [], ask: [], deny: [{ text: rule }] },
      approvalMode: "yolo",
      cwd: ws,
      home,
      roots: [ws],
      env: () => ({}),
      record: () => {},
    });
  const path = `${ws}/${file}`;
  return {
    file: path,
    edits: gate(`Edit(${path})`),
    reads: gate(`Read(${path})`),
    hiding: createWorkspace({ cwd: ws, roots: [ws], home: `${home}/r`, userHome: home, denyRead: [path] }),
  };
}

/** A policy that records the real path of every checked path. */
function watched(paths: Workspace, seen: Set<string>): WorkspacePolicy {
  const note = (path: string) => {
    seen.add(path);
    return path;
  };
  return {
    roots: paths.roots,
    read: async (path) => note(await paths.read(path)),
    write: async (path) => note(await paths.write(path)),
    hidden: (path) => paths.hidden(path),
    verifyOpened: (...args) => paths.verifyOpened(...args),
  };
}

const below = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(`${directory}/`);
const meets = (path: string, judged: readonly string[]): boolean =>
  judged.some((one) => below(path, one) || below(one, path));

/** Marks every file as read by the model. */
const ALL_READ: FileReadTracker = {
  get(path) {
    const info = stat(path);
    return info?.isFile ? { path, mtimeMs: info.mtime?.getTime() ?? 0, size: info.size } : undefined;
  },
  set() {},
  delete() {},
  values: () => [],
};

function stat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

interface Observed {
  readonly call: PreparedCall;
  readonly result: ToolResult | undefined;
  readonly changes: readonly string[];
  readonly asked: ReadonlySet<string>;
  readonly guarded: Guarded;
  readonly allowed: { readonly edit: boolean; readonly read: boolean };
}

class Bench {
  readonly #disk: Disk;
  readonly #home: string;
  readonly #open: Workspace;
  readonly #guarded: readonly Guarded[];
  readonly #matcher: PathMatcher;
  readonly #services;

  constructor(base: string) {
    this.#disk = new Disk(`${base}/disk`);
    this.#home = `${base}/disk/home`;
    const { ws } = this.#disk;
    this.#open = createWorkspace({ cwd: ws, roots: [ws], home: `${this.#home}/r`, userHome: this.#home });
    this.#guarded = [...Object.keys(TREE), "docs/fresh.md"].map((file) => guard(ws, this.#home, file));
    const ignoreCase = false;
    this.#matcher = createPathMatcher({ cwd: ws, home: this.#home, roots: [ws], realPath, ignoreCase });
    const facts = new FactStore({ home: `${base}/memory`, project: `${base}/memory/project` });
    this.#services = openServices({ knowledge: { memory: () => Promise.resolve(facts) } });
  }

  fill(args: Record<string, unknown>): string {
    return JSON.stringify(args).replaceAll("{ws}", this.#disk.ws);
  }

  /** Executes a call regardless of the gates; undefined if it cannot be prepared. */
  async observe(r: Random, name: string, args: string): Promise<Observed | undefined> {
    const call = await registry.prepare({ id: "1", name, arguments: args });
    if (typeof call === "string") return undefined;
    const guarded = r.pick(this.#guarded);
    const [edit, read] = [await guarded.edits.check(call, signal), await guarded.reads.check(call, signal)];
    const allowed = { edit: edit.decision === "allow", read: read.decision === "allow" };
    const asked = new Set<string>();
    const judged = this.judged([...call.reads, ...call.writes ?? []]);
    // Searches begin at a directory; what is in it and may not be read is left out on the way.
    const paths = watched(SEARCHES.includes(call.tool) ? guarded.hiding : this.#open, asked);
    const context = makeToolContext(this.#disk.ws, { paths, services: this.#services, seen: ALL_READ });
    const result = call.command ? undefined : await registry.get(call.tool)?.execute(call.args, context);
    const changes = this.#disk.takeChanges();
    for (const path of [...changes, ...asked]) {
      assert(meets(path, judged), `${path} is touched, judged are ${judged.join(", ")}`);
    }
    return { call, result, changes, asked, guarded, allowed };
  }

  judged(paths: readonly string[]): string[] {
    return paths.flatMap((path) => Object.values(this.#matcher.forms(path)));
  }

  async close(): Promise<void> {
    await this.#services[Symbol.asyncDispose]();
  }
}

const isLink = (path: string): boolean =>
  TREE[path.slice(path.indexOf("/ws/") + 4)]?.startsWith("-> ") ?? false;
const nfc = (path: string): string => path.normalize("NFC");

/** Checks the invariants of a call; `single` if each named path certainly changes when it succeeds. */
function verify(bench: Bench, seen: Observed, single: boolean): void {
  const { call, result, changes, guarded, allowed } = seen;
  const { file } = guarded;
  const writes = bench.judged(call.writes ?? []);
  for (const path of changes) {
    assert(
      writes.some((one) => below(path, one) || below(one, path)),
      `${path} changed, declared are ${writes}`,
    );
  }
  if (allowed.edit) assert(!changes.includes(file), `${file} changed, which the gate allowed`);
  const changed = changes.some((path) => below(nfc(path), nfc(file)) || below(nfc(file), nfc(path)));
  const done = result?.isError !== true && changes.length > 0;
  if (single && done) {
    for (const path of call.writes ?? []) {
      const forms = bench.judged([path]);
      assert(changes.some((one) => forms.includes(one)), `${path} was declared, and did not change`);
    }
    // Who may not touch a file may not move a link to it either, and a rule that names a link is one about
    // its target.
    const linked = isLink(file) || (call.writes ?? []).some((path) => new Set(bench.judged([path])).size > 1);
    // A rule about a file is one about every Unicode form of its name.
    const declared = meets(nfc(file), writes.map(nfc));
    if (!linked) assertEquals([file, !allowed.edit], [file, changed && declared]);
  }
  const shown = /token-(\w+)/.exec(TREE[file.slice(file.indexOf("/ws/") + 4)] ?? "")?.[0];
  if (shown !== undefined && allowed.read) {
    assert(
      !`${result?.content} ${result?.summary}`.includes(shown),
      `${file} was shown, which the gate allowed`,
    );
  }
}

Deno.test(`the paths that the gate checks are those that the tool touches, in ${RECORDS} calls (seeds from ${SEED})`, async () => {
  assertEquals(Object.keys(ARGUMENTS), BUILTINS.map(({ name }) => name).sort(byOrder));
  // In memory, where there is such a directory: every write is flushed.
  const shm = stat("/dev/shm")?.isDirectory ? { dir: "/dev/shm" } : {};
  const base = await Deno.realPath(await Deno.makeTempDir({ ...shm, prefix: "reasonix-test-" }));
  const bench = new Bench(base);
  const counts = new Map<string, { made: number; effective: number }>();
  const check = async (seed: number, nameOf: (r: Random) => string) => {
    const r = new Random(seed);
    const name = nameOf(r);
    const made = name === "apply_patch" ? anyPatch(r) : undefined;
    const call = made ? { [r.pick(["patch", "input", "diff"])]: made.text } : ARGUMENTS[name]?.(r) ?? {};
    const args = bench.fill(call);
    try {
      const seen = await bench.observe(r, name, args);
      if (seen) verify(bench, seen, made?.plain ?? name !== "multi_edit");
      const count = counts.get(name) ?? { made: 0, effective: 0 };
      count.made += seen ? 1 : 0;
      count.effective += seen && seen.changes.length > 0 ? 1 : 0;
      counts.set(name, count);
    } catch (error) {
      throw new Error(`seed ${seed}: ${name} ${args}`, { cause: error });
    }
  };
  for (let record = 0; record < RECORDS; record++) {
    const names = record % 4 === 0 ? Object.keys(ARGUMENTS) : record % 4 === 1 ? EDITORS : ["apply_patch"];
    await check(SEED + record, (r) => r.pick(names));
  }
  // A seed may draw an editor rarely, and with arguments that change nothing.
  const few = (name: string) => (counts.get(name)?.effective ?? 0) < 3 * RECORDS / 1000;
  for (const name of EDITORS) {
    for (let more = 0; few(name) && more < RECORDS; more++) {
      await check(SEED + RECORDS + more, () => name);
    }
  }
  await bench.close();
  await removeTree(base);
  for (const name of EDITORS) {
    assert(!few(name), `${name} changed something in ${counts.get(name)?.effective ?? 0} calls only`);
  }
});

function byOrder(a: string, b: string): number {
  const names = Object.keys(ARGUMENTS);
  return names.indexOf(a) - names.indexOf(b);
}
