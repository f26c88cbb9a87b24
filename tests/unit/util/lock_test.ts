import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { FileLock } from "../../../src/util/lock.ts";

async function withDirectory(run: (directory: string) => void | Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("FileLock has one holder, names it, and is removed on release", () =>
  withDirectory((directory) => {
    const path = `${directory}/x.lock`;
    const first = FileLock.tryAcquire(path);
    assert(first.held);
    const second = FileLock.tryAcquire(path);
    assert(!second.held);
    assertEquals(second.owner.pid, Deno.pid);
    assert(Date.parse(second.owner.since ?? "") > 0);
    first.lock.release();
    assertEquals([...Deno.readDirSync(directory)], []);
    const third = FileLock.tryAcquire(path);
    assert(third.held);
    third.lock.release();
  }));

Deno.test("FileLock of a killed process is released immediately", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/x.lock`;
    const module = new URL("../../../src/util/lock.ts", import.meta.url).href;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `import { FileLock } from "${module}"; const lock = FileLock.tryAcquire(${JSON.stringify(path)});
         await Deno.stdout.write(new TextEncoder().encode("held")); setInterval(() => lock, 1000);`,
      ],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    const busy = FileLock.tryAcquire(path);
    assertEquals(busy.held ? undefined : busy.owner.pid, child.pid);
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    const free = FileLock.tryAcquire(path);
    assert(free.held);
    free.lock.release();
  }));

Deno.test("FileLock accepts an unreadable owner and throws when no file can be created", () =>
  withDirectory((directory) => {
    const path = `${directory}/x.lock`;
    const first = FileLock.tryAcquire(path);
    Deno.writeTextFileSync(path, "nonsense");
    const second = FileLock.tryAcquire(path);
    assertEquals(second.held ? undefined : second.owner, {});
    if (first.held) first.lock.release();
    assertThrows(() => FileLock.tryAcquire(`${directory}/none/x.lock`), Deno.errors.NotFound);
  }));
