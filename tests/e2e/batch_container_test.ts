/** The container as the jail of a fleet: whether the program believes to be in one, and what holds then. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { type Finished, makeWorld, mockConfig, type RunOptions, type World } from "../support/program.ts";
import { needs } from "../support/tools.ts";

const hasBwrap = await new Deno.Command("/usr/bin/bwrap", { args: ["--version"] }).output().then(
  ({ success }) => success,
  () => false,
);

/** A root directory with the files of this machine, none of its marks and no bubblewrap. */
function privateRoot(marks: readonly string[] = []): string[] {
  const own = ["proc", "dev", "run", "sys", "var", ".dockerenv"];
  const binds = [...Deno.readDirSync("/")].filter(({ name }) => !own.includes(name)).flatMap(
    ({ name, isSymlink }) =>
      isSymlink
        ? ["--symlink", Deno.readLinkSync(`/${name}`), `/${name}`]
        : ["--bind", `/${name}`, `/${name}`],
  );
  return [
    ...["bwrap", "--die-with-parent", ...binds, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run"],
    // As in an image: on the same disk as the root.
    ...["--perms", "1777", "--dir", "/var/tmp"],
    ...["--ro-bind", "/dev/null", "/usr/bin/bwrap"],
    ...marks.flatMap((mark) => ["--ro-bind", "/dev/null", mark]),
  ];
}

/** Makes the calls that the prompt lists as JSON, and answers with their results. */
function obey({ json }: RecordedRequest): Turn {
  const messages: { role: string; content: unknown }[] = json.messages;
  const prompt = messages.map(({ content }) => String(content)).find((text) => text.startsWith("[")) ?? "[]";
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  const next = JSON.parse(prompt)[results.length];
  return next
    ? { calls: [{ id: `call-${results.length}`, ...next }] }
    : { text: `done\n---\n${results.join("\n---\n")}` };
}

const bash = (command: string) => ({ name: "bash", args: { command } });

interface Stored {
  readonly confinement?: string;
  readonly result: { readonly ok: boolean; readonly reason: string; readonly answer: string };
}

const RUN = ["run", "--tasks", "tasks.jsonl", "--results-dir", "../out"];

interface Played extends Finished {
  readonly stored: Stored;
  readonly requests: number;
  readonly log: string;
}

/** Runs one task, prepared by `work`; `config` is the user's. */
async function play(
  calls: readonly unknown[],
  { config = "", env, marks, work, args = RUN }: {
    readonly config?: string;
    readonly env?: RunOptions["env"];
    readonly marks?: readonly string[];
    readonly work?: (world: World) => Promise<void>;
    readonly args?: readonly string[];
  },
): Promise<Played> {
  await using server = startModelServer([], { check: { prefix: false }, fallback: obey });
  await using world = await makeWorld(mockConfig(server.url, config));
  const task = { id: "t", prompt: JSON.stringify(calls), env: { KUBERNETES_PORT: "tcp://1:2" } };
  await world.write("tasks.jsonl", JSON.stringify(task));
  await work?.(world);
  const done = await world.run(args, { within: privateRoot(marks), ...(env ? { env } : {}) });
  const out = `${world.dir}/../out`;
  const read = (path: string) => Deno.readTextFile(`${out}/${path}`).catch(() => undefined);
  const stored = JSON.parse(await read("tasks/t/result.json") ?? await read("failed/t.json") ?? "{}");
  const log = await read("tasks/t/session.jsonl") ?? "";
  return { ...done, stored, log, requests: server.requests.length };
}

const LINE =
  /^· The container that this runs in \((.*)\) confines commands, without a jail \(bubblewrap: it is not installed\)$/m;

Deno.test({
  ...needs("bwrap", hasBwrap, "in a container without bubblewrap commands run, and the result says so once"),
  fn: async () => {
    const calls = [
      bash("echo ran > out.txt; cat out.txt"),
      { name: "read_file", args: { path: "../secret.txt" } },
      { name: "write_file", args: { path: "../home/config.toml", content: "x" } },
      bash("rm -rf ../elsewhere"),
      bash("cat denied.txt"),
      bash("mkdir /var/tmp/of-the-test && rm -rf /var/tmp/of-the-test"),
      bash("mkdir /tmp/of-the-test && rm -rf /tmp/of-the-test"),
    ];
    const config = '[permissions]\ndeny = ["Read(denied.txt)"]\n[sandbox]\nforbid_read = ["../secret.txt"]\n';
    const work = async (world: World) => {
      await Deno.writeTextFile(`${world.dir}/../secret.txt`, "secret text\n");
      await world.write("denied.txt", "denied text\n");
      await Deno.mkdir(`${world.dir}/../elsewhere`);
    };
    for (const mark of ["/.dockerenv", "/run/.containerenv"]) {
      const { code, stdout, stderr, stored, log } = await play(calls, { config, work, marks: [mark] });
      assertEquals([code, stdout, stored.confinement], [0, "", "container"], stderr);
      assertEquals(LINE.exec(stderr)?.[1], mark, stderr);
      assertEquals(stderr.match(/confines commands/g)?.length, 1, stderr);
      const [, ran, read, write, remove, denied, temporary, mounted] = stored.result.answer.split("\n---\n");
      assertEquals(ran, "ran");
      assertEquals(temporary, "(no output)", "it goes with the container");
      assertMatch(mounted ?? "", /blocked/, "it may be that of the machine");
      assert(!/secret text/.test(read ?? "") && /forbid/i.test(read ?? ""), read);
      assertMatch(write ?? "", /blocked: .*would change settings of this program/);
      assertMatch(remove ?? "", /blocked/);
      assert(!/denied text/.test(denied ?? ""), denied);
      assertStringIncludes(log, "confines commands, without a jail");
      assert(!log.includes("Commands are not confined"), "it is not called unconfined");
    }
  },
});

Deno.test({
  ...needs(
    "bwrap",
    hasBwrap,
    "nothing that a repository, a task or a variable says makes a machine a container",
  ),
  fn: async () => {
    const work = async (world: World) => {
      for (
        const file of [
          ".dockerenv",
          "run/.containerenv",
          "var/run/secrets/kubernetes.io/serviceaccount/token",
        ]
      ) {
        await world.write(file, "");
      }
      await world.write("reasonix.toml", '[sandbox]\nbash = "off"\nbackend = "podman"\nimage = "x"\n');
      await Deno.writeTextFile(`${world.home}/.env`, "KUBERNETES_SERVICE_HOST=10.0.0.1\ncontainer=docker\n");
    };
    const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", container: "podman", JOB_COMPLETION_INDEX: "0" };
    const made = bash("touch /.dockerenv /run/.containerenv 2>&1; true");
    const { code, stderr, stored, log } = await play([made], { env, work });
    assertEquals([code, stored.result.ok, stored.confinement], [0, true, undefined], stderr);
    assert(!stderr.includes("container"), stderr);
    assertStringIncludes(log, "Commands are not confined (bubblewrap: it is not installed)");
    // A container with a view of the whole machine is none.
    const root = await play([], { marks: ["/run/.containerenv", "/run/host/etc"] });
    assertEquals([root.code, root.stored.confinement], [0, undefined], root.stderr);
    // Only a fleet takes its container as the jail.
    const alone = await play([], { marks: ["/.dockerenv"], args: ["run", "--tasks", "tasks.jsonl"] });
    assert(alone.code === 0 && !alone.stderr.includes("container"), alone.stderr);
  },
});

Deno.test({
  ...needs("bwrap", hasBwrap, "in a container enforce refuses as everywhere, of the user and of a project"),
  fn: async () => {
    const marks = ["/.dockerenv"];
    const config = '[sandbox]\nbash = "enforce"\n';
    const user = await play([bash("true")], { config, marks });
    assertEquals([user.code, user.requests, user.stored], [3, 0, {} as Stored], user.stderr);
    assertMatch(user.stderr, /Cannot confine commands as \[sandbox\] bash = "enforce" asks: bubblewrap/);
    const project = await play([bash("true")], {
      marks,
      work: (world) => world.write("reasonix.toml", config),
    });
    assertEquals(
      [project.code, project.requests, project.stored.result.reason],
      [3, 0, "blocked"],
      project.stderr,
    );
    const off = await play([], { config: '[sandbox]\nbash = "off"\n', marks });
    assertEquals([off.code, off.stored.confinement], [0, undefined], off.stderr);
    const full = await play([], { marks, args: [...RUN, "--permission-mode", "danger-full-access"] });
    assertEquals([full.code, full.stored.confinement], [0, undefined], full.stderr);
    // Where files must stay as they are, the container is no help.
    const reading = await play([bash("touch x")], {
      marks,
      args: [...RUN, "--permission-mode", "read-only"],
    });
    assertMatch(reading.stored.result.answer, /read-only refuses/);
  },
});
