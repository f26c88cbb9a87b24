/** Replaces facts that a process cannot choose: the time of day, and the order of directory entries. */

/** Moves the clock of this process; the returned object moves it on, and back when it is disposed of. */
export function ownClock(): Disposable & { forward(ms: number): void } {
  const real = Date;
  let ahead = 0;
  const now = () => real.now() + ahead;
  globalThis.Date = new Proxy(real, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
    get: (target, key, receiver) => key === "now" ? now : Reflect.get(target, key, receiver),
  });
  return {
    forward(ms) {
      ahead += ms;
    },
    [Symbol.dispose]() {
      globalThis.Date = real;
    },
  };
}

/** Lists every directory in reverse or in the system's order, by its argument. */
export function ownDirectoryOrder(): Disposable & { backwards: boolean } {
  const { readDir, readDirSync } = Deno;
  const order = { backwards: false };
  const turned = (entries: Deno.DirEntry[]) => order.backwards ? entries.reverse() : entries;
  Deno.readDirSync = (path) => turned([...readDirSync(path)]).values();
  Deno.readDir = async function* (path) {
    yield* turned(await Array.fromAsync(readDir(path)));
  };
  return Object.assign(order, {
    [Symbol.dispose]() {
      Object.assign(Deno, { readDir, readDirSync });
    },
  });
}

/** The same value with the keys of every object in the opposite order. */
export function keysBackwards<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).reverse().map(([key, item]) => [key, keysBackwards(item)]);
  return Object.fromEntries(entries);
}
