/** Verification of a turn's changes before its answer counts: docs/verification.md, through the program. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { needs } from "../support/tools.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";

/** Exits with 0 once the file says so. */
const CHECK = `grep -q good sum.js || { echo "sum is bad"; exit 3; }`;
const TOML_CHECK = JSON.stringify(CHECK);

function write(content: string, path = "sum.js"): Turn {
  return { calls: [{ name: "write_file", args: { path, content } }] };
}

interface Stage {
  readonly world: World;
  /** Messages of the last request. */
  messages(): { role: string; content: string }[];
  run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** The result object of such a run. */
  // deno-lint-ignore no-explicit-any
  result(...args: string[]): Promise<any>;
}

async function onStage(
  { turns, config = "", files = {}, severalSessions = false }: {
    readonly turns: readonly Turn[];
    readonly config?: string;
    readonly files?: Readonly<Record<string, string>>;
    readonly severalSessions?: boolean;
  },
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  await using server = startModelServer([...turns], { check: { prefix: !severalSessions } });
  await using world = await makeWorld(mockConfig(server.url, '[permissions]\nmode = "allow"\n' + config));
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
  const run = (...args: string[]) => world.run(["run", ...args, "go"]);
  await work({
    world,
    messages: () => server.requests.at(-1)?.json.messages,
    run,
    result: async (...args) => {
      const { stdout, stderr } = await run("--output-format", "json", ...args);
      assert(stdout.startsWith("{"), stderr);
      return JSON.parse(stdout);
    },
  });
}

const workflow = (line: string, more = "") => `[workflow]\nverify_commands = { "*.js" = [${line}] }\n${more}`;

Deno.test("a failure is returned to the model, which fixes it", async () => {
  const turns = [write("bad"), { text: "It is done." }, write("good"), { text: "Now it works." }];
  await onStage({ turns, config: workflow(TOML_CHECK) }, async ({ run, messages }) => {
    const { code, stdout, stderr } = await run();
    assertEquals([code, stdout], [0, "Now it works.\n"], stderr);
    assertStringIncludes(stderr, "Verification 1 of 3");
    assertStringIncludes(stderr, "Verified: ");
    const [feedback] = messages().filter(({ content }) => content?.includes("<verification>"));
    assertMatch(feedback?.content ?? "", /sum\.js[\s\S]*\$ grep -q good[\s\S]*exit code 3[\s\S]*sum is bad/);
  });
});

Deno.test("a turn that changes no file of a glob runs no command", async () => {
  const turns = [{ calls: [{ name: "bash", args: { command: "ls" } }] }, { text: "Seen." }];
  await onStage({ turns, config: workflow('"touch ran"') }, async ({ result, world }) => {
    assertEquals([(await result()).verification, [...Deno.readDirSync(world.dir)]], [undefined, []]);
  });
  await onStage(
    { turns: [write("x", "a.md"), { text: "ok" }], config: workflow('"touch ran"') },
    async (stage) => {
      assertEquals((await stage.result()).verification, undefined);
    },
  );
});

Deno.test("changes of a command are verified like changes of a tool", async () => {
  const turns = [{ calls: [{ name: "bash", args: { command: "echo bad > sum.js" } }] }, { text: "ok" }];
  await onStage({ turns, config: workflow(TOML_CHECK, "max_rounds = 0") }, async ({ result }) => {
    const found = await result();
    assertEquals([found.exit_code, found.verification.state], [1, "failed"]);
    assertEquals(found.verification.commands[0].exit_code, 3);
  });
});

Deno.test("at the limit the run fails, and its answer reports it", async () => {
  const turns = [write("bad"), { text: "one" }, { text: "two" }, { text: "I cannot." }];
  await onStage({ turns, config: workflow(TOML_CHECK, "max_rounds = 2") }, async ({ run }) => {
    const { code, stdout, stderr } = await run();
    assertEquals(code, 1);
    assertMatch(stdout, /^I cannot\.\n\nNot verified: .* failed \(exit code 3\)\n$/);
    assertStringIncludes(stderr, "still fails (exit code 3)");
  });
});

Deno.test("endless and missing commands do not block a run", async () => {
  const config = workflow('"sleep 60"', "max_rounds = 0\ntest_timeout_ms = 400");
  await onStage({ turns: [write("x"), { text: "ok" }], config }, async ({ result }) => {
    const { verification: { state, commands: [command] } } = await result();
    assertEquals([state, command.outcome], ["failed", "timeout"]);
    assert(command.duration_ms < 10_000);
  });
  const missing = workflow('"no-such-program-here"');
  await onStage({ turns: [write("x"), { text: "ok" }], config: missing }, async ({ result }) => {
    const found = await result();
    assertEquals([found.exit_code, found.verification.state], [0, "not_verified"]);
    assertStringIncludes(found.result, "found no program of that name");
  });
});

Deno.test("only the end of a huge output is sent to the model", async () => {
  const line = JSON.stringify("seq 1 300000; echo the-end; exit 1");
  const config = workflow(line, "max_rounds = 1");
  await onStage({ turns: [write("x"), { text: "a" }, { text: "b" }], config }, async ({ run, messages }) => {
    assertEquals((await run()).code, 1);
    const feedback = messages().find(({ content }) => content?.includes("<verification>"))?.content ?? "";
    assert(feedback.length < 9000, String(feedback.length));
    assertStringIncludes(feedback, "the-end");
  });
});

Deno.test("a denied command is not run", async () => {
  const config = workflow('"touch ran"').replace("[workflow]", 'deny = ["Bash(touch *)"]\n[workflow]');
  await onStage({ turns: [write("x"), { text: "ok" }], config }, async ({ result, world }) => {
    const { verification } = await result();
    assertEquals(verification.state, "not_verified");
    assertStringIncludes(verification.reason, "may not run");
    assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["sum.js"]);
  });
});

Deno.test({
  ...jailed("a command is jailed and gets no secrets"),
  async fn() {
    const line = JSON.stringify('echo "key=$MOCK_KEY"; touch ../outside');
    const config = workflow(line, "max_rounds = 0");
    await onStage({ turns: [write("x"), { text: "ok" }], config }, async ({ world, result }) => {
      await Deno.writeTextFile(`${world.home}/.env`, "MOCK_SECRET_KEY=sk-1234567890abcdef\n");
      const { verification } = await result();
      assertEquals(verification.state, "failed");
      assertEquals([...Deno.readDirSync(`${world.dir}/..`)].some(({ name }) => name === "outside"), false);
    });
  },
});

/** A session may not overwrite a file that it has not read, but its commands do. */
function put(content: string, path = "sum.js"): Turn {
  return { calls: [{ name: "bash", args: { command: `printf '${content}' > ${path}` } }] };
}

const MAKEFILE = "test:\n\tgrep -q good sum.js && touch ran\n";
const hasMake = await new Deno.Command("make", { args: ["--version"], stdout: "null" }).output().then(
  ({ success }) => success,
  () => false,
);

const withMake = (name: string) => needs("make", hasMake, name);

Deno.test({
  ...withMake("commands of a project run only after trust, in the trusted form"),
  fn: async () => {
    const files = { "Makefile": MAKEFILE };
    const turns = [put("good 1"), { text: "ok" }, put("good 2"), { text: "ok" }, put("good 3"), {
      text: "ok",
    }];
    const changed = [put("test:\\n\\ttrue", "Makefile"), { text: "ok" }];
    await onStage(
      { turns: [...turns, ...changed], files, severalSessions: true },
      async ({ result, run, world }) => {
        const ran = () => [...Deno.readDirSync(world.dir)].some(({ name }) => name === "ran");
        const before = await result();
        assertEquals([before.exit_code, before.verification.state, ran()], [0, "not_verified", false]);
        assertMatch(before.result, /^ok\n\nNot verified: .*make test.* is not trusted yet/);
        const ignoring = await run("--ignore-untrusted");
        assertStringIncludes(ignoring.stderr, "Not verified");
        const trust = await world.run(["trust", "--yes"]);
        assertStringIncludes(trust.stdout, "verify make test  Makefile");
        assertEquals([(await result()).verification.state, ran()], ["passed", true]);
        const after = await result();
        assertEquals(after.verification.state, "not_verified");
        assertStringIncludes(after.verification.reason, "was changed in this turn (Makefile)");
      },
    );
  },
});

Deno.test({
  ...withMake("--trust-project trusts the content at the start of the run"),
  fn: async () => {
    const files = { "Makefile": MAKEFILE };
    const changed = [
      put("good 2"),
      put("test:\\n\\ttrue", "Makefile"),
      { text: "ok" },
    ];
    await onStage(
      { turns: [put("good 1"), { text: "ok" }, ...changed], files, severalSessions: true },
      async ({ result }) => {
        assertEquals((await result("--trust-project")).verification.state, "passed");
        assertEquals((await result("--trust-project")).verification.state, "not_verified");
      },
    );
  },
});

Deno.test("commands of the project's own settings wait for trust", async () => {
  const files = { "reasonix.toml": workflow('"touch ran"') };
  await onStage({ turns: [write("x"), { text: "ok" }], files }, async ({ run, world }) => {
    const { code, stderr } = await run();
    assertEquals(code, 3);
    assertStringIncludes(stderr, 'it would run "touch ran" after turns that change files');
    assertEquals((await world.run(["trust", "--yes"])).code, 0);
    assertEquals((await run()).code, 0);
    assert([...Deno.readDirSync(world.dir)].some(({ name }) => name === "ran"));
  });
});

Deno.test("/verify runs everything by hand", async () => {
  await onStage({ turns: [], config: workflow(TOML_CHECK) }, async ({ world }) => {
    await world.write("sum.js", "bad");
    const { stdout, stderr } = await world.run(["run", "/verify"]);
    assertMatch(stdout, /grep -q good.*: failed/, stderr);
    assertStringIncludes(stdout, "sum is bad");
  });
  await onStage({ turns: [] }, async ({ world }) => {
    const { code, stderr } = await world.run(["run", "/verify"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "[workflow] verify_commands");
  });
});
