/**
 * The functions that usual runs of the program execute: a committed list, so that a build runs nothing and
 * two builds of one commit are equal. `deno task trace` writes it. A function that it does not name is
 * compiled when it is first called; a module that it does not name may be loaded from a part.
 */

/** Functions by module. */
export type FunctionList = ReadonlyMap<string, ReadonlySet<string>>;

export interface Executed {
  /** Modules that a task executes whose first reply ends it. */
  readonly start: ReadonlySet<string>;
  /** Functions that tasks and chats execute; a module without functions only has its top level executed. */
  readonly program: FunctionList;
  /** Those of worker processes. */
  readonly worker: FunctionList;
}

const FILE = new URL("./executed.txt", import.meta.url);
const HEAD = "# Modules and functions that usual runs execute. Written by `deno task trace`.\n";

/** The name of a module in the list, which stays when the version of its package changes. */
export function listed(module: string): string {
  return module.replace(/^(npm:\/(?:@[^/]+\/)?[^/]+)\/\d[^/]*/, "$1");
}

/**
 * Reports whether a list has at least half of these modules: edits add some, and a package that was bundled
 * before has the same module in several of its files.
 */
export function hasMost(list: { has(module: string): boolean }, modules: readonly string[]): boolean {
  return modules.length > 0 &&
    modules.filter((module) => list.has(listed(module))).length * 2 >= modules.length;
}

export async function readExecuted(): Promise<Executed> {
  const sections = (await Deno.readTextFile(FILE)).split(/^\[(\w+)\]\n/m);
  const section = (name: string): FunctionList => {
    const lines = (sections[sections.indexOf(name) + 1] ?? "").split("\n").filter((line) => line !== "");
    return new Map(lines.map((line) => {
      const [module = "", ...functions] = line.split(" ");
      return [module, new Set(functions)];
    }));
  };
  return {
    start: new Set(section("start").keys()),
    program: section("program"),
    worker: section("worker"),
  };
}

export async function writeExecuted({ start, program, worker }: Executed): Promise<void> {
  const lines = (list: FunctionList) =>
    [...list].map(([module, functions]) => `${[module, ...[...functions].sort()].join(" ")}\n`).sort().join(
      "",
    );
  await Deno.writeTextFile(
    FILE,
    `${HEAD}[start]\n${lines(new Map([...start].map((module) => [module, new Set()])))}` +
      `[program]\n${lines(program)}[worker]\n${lines(worker)}`,
  );
}
