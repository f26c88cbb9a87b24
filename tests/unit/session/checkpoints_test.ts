import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";
import type { DetectorLimits } from "../../../src/session/checkpoint/change_detector.ts";
import { Checkpoints } from "../../../src/session/checkpoint/checkpoints.ts";
import { loadManage, sessionIds, SessionLog } from "../../../src/session/mod.ts";
import { begin, end, withHome } from "./support.ts";

interface Bench {
  readonly root: string;
  readonly dir: string;
  points: Checkpoints;
  write(path: string, text: string): void;
  read(path: string): string | undefined;
  reopen(): void;
  /** A turn in which a shell command does this. */
  turn(run: () => void | Promise<void>): Promise<string>;
}

const withBench = (
  run: (bench: Bench) => Promise<void>,
  limits: Partial<DetectorLimits> = {},
) =>
  withHome(async (home) => {
    const root = Deno.realPathSync(home) + "/work";
    Deno.mkdirSync(root);
    const dir = `${home}/session`;
    let turn = 0;
    let seq = 0;
    const open = () => Checkpoints.open({ dir, root, seq: () => seq, limits });
    const bench: Bench = {
      root,
      dir,
      points: open(),
      write: (path, text) => {
        Deno.mkdirSync(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
        Deno.writeTextFileSync(`${root}/${path}`, text);
      },
      read: (path) => {
        try {
          return Deno.readTextFileSync(`${root}/${path}`);
        } catch {
          return undefined;
        }
      },
      reopen: () => bench.points = open(),
      turn: async (work) => {
        seq += 10;
        bench.points.begin(++turn);
        const checkpoint = await bench.points.ready();
        await work();
        await bench.points.end();
        seq += 10;
        return checkpoint?.id ?? "";
      },
    };
    await run(bench);
  });

Deno.test("Checkpoints.restore reverts files that a command changed, created, renamed or deleted", () =>
  withBench(async (b) => {
    for (const name of ["kept", "changed", "deleted", "moved"]) b.write(`src/${name}.txt`, name);
    const id = await b.turn(() => {
      b.write("src/changed.txt", "other");
      b.write("new/deep/made.txt", "made");
      Deno.removeSync(`${b.root}/src/deleted.txt`);
      Deno.renameSync(`${b.root}/src/moved.txt`, `${b.root}/src/elsewhere.txt`);
    });
    const preview = await b.points.preview(id);
    assertEquals(preview.map((c) => [c.path, c.action]), [
      ["new/deep/made.txt", "delete"],
      ["src/changed.txt", "update"],
      ["src/deleted.txt", "create"],
      ["src/elsewhere.txt", "delete"],
      ["src/moved.txt", "create"],
    ]);
    const report = await b.points.restore(id);
    assertEquals([report.restored.length, report.failed], [5, []]);
    assertEquals(["kept", "changed", "deleted", "moved"].map((n) => b.read(`src/${n}.txt`)), [
      "kept",
      "changed",
      "deleted",
      "moved",
    ]);
    assertEquals([...Deno.readDirSync(b.root)].map((e) => e.name), ["src"]);
  }));

Deno.test("Checkpoints.restore returns to the state before a rewind", () =>
  withBench(async (b) => {
    b.write("a.txt", "1");
    const first = await b.turn(() => b.write("a.txt", "2"));
    await b.turn(() => b.write("b.txt", "new"));
    const { before } = await b.points.restore(first);
    assertEquals([b.read("a.txt"), b.read("b.txt")], ["1", undefined]);
    b.reopen();
    await b.points.restore(before.id);
    assertEquals([b.read("a.txt"), b.read("b.txt")], ["2", "new"]);
  }));

Deno.test("Checkpoints.restore keeps the user's changes between turns and reports conflicts", () =>
  withBench(async (b) => {
    b.write("mine.txt", "mine 1");
    b.write("shared.txt", "shared 1");
    const id = await b.turn(() => b.write("shared.txt", "agent"));
    b.write("mine.txt", "mine 2");
    b.write("shared.txt", "user");
    await b.turn(() => b.write("other.txt", "agent"));
    const preview = await b.points.preview(id);
    assertEquals(preview.map((c) => [c.path, c.alsoByUser]), [["other.txt", false], ["shared.txt", true]]);
    await b.points.restore(id);
    assertEquals([b.read("mine.txt"), b.read("shared.txt"), b.read("other.txt")], [
      "mine 2",
      "shared 1",
      undefined,
    ]);
  }));

Deno.test("Checkpoints include ignored, large and outside files that a tool announces", () =>
  withBench(async (b) => {
    const outside = `${b.root}-outside.txt`;
    Deno.writeTextFileSync(outside, "outside 1");
    b.write(".gitignore", "*.log\nbuild/\n");
    b.write("out.log", "log 1");
    b.write("big.txt", "x".repeat(2000));
    const id = await b.turn(async () => {
      for (const path of [`${b.root}/out.log`, `${b.root}/big.txt`, outside, `${b.root}/build/made.txt`]) {
        await b.points.before(path);
      }
      b.write("out.log", "log 2");
      b.write("big.txt", "small");
      b.write("build/made.txt", "made");
      Deno.writeTextFileSync(outside, "outside 2");
    });
    const report = await b.points.restore(id);
    assertEquals(report.failed, []);
    assertEquals(
      [
        b.read("out.log"),
        b.read("big.txt")?.length,
        b.read("build/made.txt"),
        Deno.readTextFileSync(outside),
      ],
      ["log 1", 2000, undefined, "outside 1"],
    );
  }, { fileBytes: 1000 }));

Deno.test("Checkpoints.restore removes a file that a command created and a tool changed", () =>
  withBench(async (b) => {
    const id = await b.turn(async () => {
      b.write("made.txt", "by a command");
      await b.points.before(`${b.root}/made.txt`);
      b.write("made.txt", "by a tool");
    });
    await b.points.restore(id);
    assertEquals(b.read("made.txt"), undefined);
  }));

Deno.test("Checkpoints.restore restores ignored files that a command changed, and creates none", () =>
  withBench(async (b) => {
    b.write(".gitignore", "*.local\ncache/\n");
    for (const path of ["env.local", "gone.local", "cache/deep/state", "node_modules/a/index.js"]) {
      b.write(path, "1");
    }
    const id = await b.turn(() => {
      b.write("env.local", "2");
      Deno.removeSync(`${b.root}/gone.local`);
      b.write("cache/deep/state", "2");
      b.write("cache/new", "made");
      b.write("node_modules/a/index.js", "2");
    });
    const { failed } = await b.points.restore(id);
    assertEquals([failed, b.points.uncovered(id)], [[], []]);
    assertEquals(
      ["env.local", "gone.local", "cache/deep/state", "cache/new", "node_modules/a/index.js"].map(b.read),
      ["1", "1", "1", undefined, "1"],
    );
  }));

Deno.test("Checkpoints ignore the same files as a search, including .git/info/exclude", () =>
  withBench(async (b) => {
    b.write(".git/info/exclude", "scratch/\n");
    b.write(".ignore", "notes/\n");
    for (const name of ["scratch", "notes"]) for (let i = 0; i < 4; i++) b.write(`${name}/${i}`, "1");
    const id = await b.turn(() => b.write("a", "1"));
    await b.points.preview(id);
    assertEquals(b.points.uncovered(id), ["notes/", "scratch/"]);
  }, { ignoredDirectoryFiles: 3 }));

Deno.test("Checkpoints.uncovered returns ignored files above the limit, then or now", () =>
  withBench(async (b) => {
    b.write(".gitignore", "*.local\nbuild/\ncache/\n");
    b.write("env.local", "1");
    for (let i = 0; i < 4; i++) b.write(`build/${i}/out`, "1");
    const id = await b.turn(() => {
      b.write("env.local", "2");
      b.write("build/0/out", "2");
      for (let i = 0; i < 4; i++) b.write(`cache/${i}`, "made");
    });
    assertEquals((await b.points.preview(id)).map(({ path }) => path), ["env.local"]);
    assertEquals(b.points.uncovered(id), ["build/", "cache/"]);
    b.reopen();
    Deno.removeSync(`${b.root}/build`, { recursive: true });
    await b.points.restore(id);
    assertEquals([b.read("env.local"), b.read("build/0/out"), b.read("cache/0")], ["1", undefined, "made"]);
    assertEquals(b.points.uncovered(id), ["build/", "cache/"]);
  }, { ignoredDirectoryFiles: 3 }));

Deno.test("Checkpoints limit the content of ignored files and report it", () =>
  withBench(async (b) => {
    b.write(".gitignore", "*.local\n");
    for (const name of ["a", "b"]) b.write(`${name}.local`, name.repeat(600));
    const id = await b.turn(() => ["a", "b"].forEach((name) => b.write(`${name}.local`, "gone")));
    const { restored, failed } = await b.points.restore(id);
    assertEquals([restored.length, failed.length], [1, 1]);
    assertStringIncludes(failed[0]?.reason ?? "", "too large");
  }, { ignoredBytes: 1000 }));

Deno.test("Checkpoints.uncovered returns the workspace itself when it has too many files", () =>
  withBench(async (b) => {
    for (let i = 0; i < 5; i++) b.write(`${i}`, "1");
    const id = await b.turn(() => b.write("0", "2"));
    assertEquals([await b.points.preview(id), b.points.uncovered(id)], [[], ["."]]);
  }, { files: 4 }));

Deno.test("Checkpoints.restore reports changed files that were too large to save", () =>
  withBench(async (b) => {
    b.write("big.bin", "x".repeat(2000));
    b.write("small.txt", "1");
    const id = await b.turn(() => {
      b.write("big.bin", "gone");
      b.write("small.txt", "2");
    });
    const { failed, restored } = await b.points.restore(id);
    assertEquals(failed.map((f) => f.path), ["big.bin"]);
    assertStringIncludes(failed[0]?.reason ?? "", "too large");
    assertEquals([restored.map((r) => r.path), b.read("small.txt")], [["small.txt"], "1"]);
  }, { fileBytes: 1000 }));

Deno.test("Checkpoints.restore deletes nothing that was only hidden by an ignore rule", () =>
  withBench(async (b) => {
    b.write(".gitignore", "dist/\n");
    b.write("dist/app.js", "built long ago");
    const old = new Date(Date.now() - 60_000);
    Deno.utimeSync(`${b.root}/dist/app.js`, old, old);
    // Change times come in whole seconds; wait until the file is certainly older than the snapshot.
    const written = Date.now();
    while (Math.floor(Date.now() / 1000) * 1000 < written + 1000) await new Promise((r) => setTimeout(r, 20));
    const id = await b.turn(() => b.write(".gitignore", "nothing\n"));
    await b.points.restore(id);
    assertEquals([b.read("dist/app.js"), b.read(".gitignore")], ["built long ago", "dist/\n"]);
  }));

Deno.test(
  "Checkpoints keep permissions and links",
  { ignore: Deno.build.os === "windows" },
  () =>
    withBench(async (b) => {
      b.write("run.sh", "echo");
      Deno.chmodSync(`${b.root}/run.sh`, 0o755);
      Deno.symlinkSync("run.sh", `${b.root}/link`);
      const id = await b.turn(() => {
        Deno.chmodSync(`${b.root}/run.sh`, 0o644);
        Deno.removeSync(`${b.root}/link`);
        b.write("link", "a file now");
      });
      await b.points.restore(id);
      assertEquals((Deno.statSync(`${b.root}/run.sh`).mode ?? 0) & 0o777, 0o755);
      assertEquals(Deno.readLinkSync(`${b.root}/link`), "run.sh");
    }),
);

Deno.test("Checkpoints.restore does not follow a link out of the workspace", () =>
  withBench(async (b) => {
    const outside = `${b.root}-outside`;
    Deno.mkdirSync(outside);
    b.write("dir/file.txt", "inside");
    const id = await b.turn(() => {
      Deno.removeSync(`${b.root}/dir`, { recursive: true });
      Deno.symlinkSync(outside, `${b.root}/dir`);
    });
    await b.points.restore(id);
    assertEquals([...Deno.readDirSync(outside)], []);
    assertEquals(b.read("dir/file.txt"), "inside");
  }));

Deno.test("Checkpoints detect a change that keeps size and second", () =>
  withBench(async (b) => {
    b.write("a.txt", "aaaa");
    const id = await b.turn(() => b.write("a.txt", "bbbb"));
    await b.turn(() => b.write("a.txt", "cccc"));
    await b.points.restore(id);
    assertEquals(b.read("a.txt"), "aaaa");
  }));

Deno.test("Checkpoints attribute changes of a crashed turn to the program", () =>
  withBench(async (b) => {
    b.write("a.txt", "1");
    b.points.begin(1);
    const id = (await b.points.ready())?.id ?? "";
    b.write("a.txt", "2");
    b.reopen();
    await b.points.restore(id);
    assertEquals(b.read("a.txt"), "1");
  }));

Deno.test("Checkpoints remove temporary files of a killed rewind and none with similar names", () =>
  withBench(async (b) => {
    b.write("sub/a.txt", "one");
    const first = await b.turn(() => b.write("sub/a.txt", "two"));
    b.write("sub/.reasonix-session.tmp", "half");
    b.write("sub/.reasonix-other.tmp", "the person's");
    b.reopen();
    const { restored, failed } = await b.points.restore(first);
    assertEquals([restored.map(({ path }) => path), failed], [["sub/a.txt"], []]);
    assertEquals([b.read("sub/a.txt"), b.read("sub/.reasonix-session.tmp")], ["one", undefined]);
    assertEquals(b.read("sub/.reasonix-other.tmp"), "the person's");
  }));

Deno.test("Checkpoints.ready creates one checkpoint per turn, and unused turns write nothing", () =>
  withBench(async (b) => {
    b.points.begin(1);
    await b.points.end();
    assertEquals([...Deno.readDirSync(b.root + "/..")].some((e) => e.name === "session"), false);
    b.points.begin(2);
    assertEquals((await b.points.ready())?.turn, 2);
    assertEquals(await b.points.ready(), undefined);
  }));

Deno.test("Checkpoints.checkpointFor finds the snapshot for an event", () =>
  withBench(async (b) => {
    const first = await b.turn(() => b.write("a", "1"));
    const second = await b.turn(() => b.write("a", "2"));
    assertEquals([b.points.checkpointFor(0), b.points.checkpointFor(11), b.points.checkpointFor(31)], [
      first,
      second,
      undefined,
    ]);
  }));

Deno.test("Checkpoints.diff shows the change of a text file by a restore", () =>
  withBench(async (b) => {
    b.write("a.txt", "one\ntwo\n");
    const id = await b.turn(() => b.write("a.txt", "one\n2\n"));
    const [change] = await b.points.preview(id);
    assert(change);
    const diff = await b.points.diff(change) ?? "";
    assertStringIncludes(diff, "-2");
    assertStringIncludes(diff, "+two");
  }));

Deno.test("Checkpoints read clean files from the user's repository and do not change it", () =>
  withBench(async (b) => {
    const git = (...args: string[]) =>
      new Deno.Command("git", {
        args: ["-C", b.root, "-c", "user.name=T", "-c", "user.email=t@example.com", ...args],
        env: { GIT_CONFIG_NOSYSTEM: "1", HOME: b.dir },
      }).outputSync();
    if (!git("init", "-q").success) return;
    b.write("clean.txt", "committed text\n");
    const old = new Date(Date.now() - 60_000);
    Deno.utimeSync(`${b.root}/clean.txt`, old, old);
    git("add", ".");
    git("commit", "-q", "-m", "x");
    b.write("dirty.txt", "dirty text\n");
    const snapshot = () => [...Deno.readDirSync(`${b.root}/.git`)].map((e) => e.name).sort().join();
    const index = Deno.readFileSync(`${b.root}/.git/index`);
    const before = snapshot();
    const id = await b.turn(() => {
      b.write("clean.txt", "broken");
      b.write("dirty.txt", "broken");
    });
    const packs = [...Deno.readDirSync(`${b.dir}/checkpoints/blobs`)].map(({ name }) => name)
      .filter((name) => name.endsWith(".pack"));
    const stored = packs.map((name) => Deno.readTextFileSync(`${b.dir}/checkpoints/blobs/${name}`));
    assertEquals(stored, ["dirty text\nbroken"]);
    await b.points.restore(id);
    assertEquals([b.read("clean.txt"), b.read("dirty.txt")], ["committed text\n", "dirty text\n"]);
    assertEquals([snapshot(), Deno.readFileSync(`${b.root}/.git/index`)], [before, index]);
  }));

Deno.test("an interrupted copy is not a session", () =>
  withHome(async (home) => {
    using log = SessionLog.create({ home, cwd: "/w", version: "1" });
    log.append({ type: "message.user", origin: "user", content: "hello" });
    const project = log.paths.path.replace(/\/sessions\/[^/]*$/, "");
    const { copySession } = await loadManage();
    const rename = Deno.renameSync;
    Deno.renameSync = () => {
      throw new Error("killed here");
    };
    try {
      assertThrows(() => copySession(log.paths.path, { version: "1" }), Error, "killed here");
    } finally {
      Deno.renameSync = rename;
    }
    assertEquals(sessionIds(project).length, 1);
    copySession(log.paths.path, { version: "1" });
    assertEquals(sessionIds(project).length, 2);
  }));

Deno.test("a fork can restore the files of its first event", () =>
  withHome(async (home) => {
    const root = `${Deno.realPathSync(home)}/work`;
    Deno.mkdirSync(root);
    const write = (text: string) => Deno.writeTextFileSync(`${root}/a.txt`, text);
    write("0");
    const log = SessionLog.create({ home, cwd: root, version: "1" });
    const points = Checkpoints.open({ dir: log.paths.dir, root, seq: () => log.state.lastSeq });
    for (const n of [1, 2, 3]) {
      log.append(begin(n));
      points.begin(n);
      await points.ready();
      write(String(n));
      log.append(end(n));
      await points.end();
    }
    log.close();
    const { forkSession } = await loadManage();
    const fork = forkSession(log.paths.path, 1, { version: "1" });
    const forked = SessionLog.open(fork.path);
    const own = Checkpoints.open({ dir: fork.dir, root, seq: () => forked.state.lastSeq });
    const id = own.checkpointFor(forked.state.lastSeq) ?? "";
    await own.restore(id);
    assertEquals(Deno.readTextFileSync(`${root}/a.txt`), "1");
    forked.close();
  }));
