/** Network access that a person grants to a sandboxed command, in the assembled agent. */
import { createAgent } from "../../mod.ts";
import type { ApprovalAnswer, Event } from "../../src/core/mod.ts";
import type { ApprovalRequest } from "../../src/permission/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { bash } from "../conformance/sandbox/attacks.ts";
import { startModelServer } from "../support/model_server.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type SandboxDirs, sandboxDirs } from "../unit/sandbox/support.ts";

interface Played {
  /** Results of the commands, as the model gets them. */
  readonly results: readonly string[];
  readonly asked: readonly ApprovalRequest[];
  readonly events: readonly Event[];
}

type Answers = (request: ApprovalRequest) => Partial<ApprovalAnswer>;

interface Scenario {
  readonly commands: readonly string[];
  /** Absent: headless. */
  readonly answer?: Answers;
  readonly allow?: readonly string[];
  readonly sandbox?: Record<string, unknown>;
  readonly permissionMode?: "read-only" | "plan";
}

/** Runs commands, one a message. */
async function play(
  g: SandboxDirs,
  { commands, answer, allow = [], sandbox = {}, permissionMode }: Scenario,
): Promise<Played> {
  const turns = commands.map((command) => ({ calls: [bash(command)] }));
  await using server = startModelServer([...turns, { text: "done" }]);
  const asked: ApprovalRequest[] = [];
  const events: Event[] = [];
  const approver = {
    ask(request: ApprovalRequest) {
      asked.push(request);
      return Promise.resolve<ApprovalAnswer>({ allow: false, scope: "once", ...answer?.(request) });
    },
  };
  const providers = [{ name: "mock", kind: "openai", base_url: server.url, model: "mock-1" }];
  await using agent = await createAgent({
    config: { default_model: "mock", providers, permissions: { allow: [...allow] }, sandbox },
    cwd: g.ws,
    home: g.home,
    ...(answer ? { approver } : {}),
    ...(permissionMode ? { permissionMode } : {}),
    onEvent: (event) => void events.push(event),
  });
  await agent.run("go");
  const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
  return {
    results: messages.filter(({ role }) => role === "tool").map(({ content }) => content),
    asked,
    events,
  };
}

const get = (host: string) => `curl -sS --max-time 5 http://${host}/ 2>&1`;
/** The filter allowed the host, so that only the name lookup fails. */
const PASSED = /^getaddrinfo ENOTFOUND/;
const OFFLINE = /Could not resolve host/;

Deno.test({
  ...jailed(
    "a network that was opened once reaches the named hosts in one command, and no other host or command",
  ),
  fn: async () => {
    await using g = await sandboxDirs();
    await Deno.writeTextFile(`${g.ws}/url`, "http://c.invalid/");
    const line = `${
      get("a.invalid")
    }; H=b.invalid; curl -sS http://$H/ 2>&1; curl -sS -K - <<< "url = http://c.invalid/" 2>&1`;
    const { asked, results } = await play(g, {
      commands: [line, get("a.invalid")],
      answer: ({ escape, subject }) => ({
        allow: escape === undefined,
        ...(subject === line ? { network: "once" } : {}),
      }),
    });
    assertEquals(asked[0]?.network, { hosts: [] }, "a part is not known");
    assertMatch(results[1] ?? "", OFFLINE);
    const named = await play(g, {
      commands: [`${get("a.invalid")}; sh ./other.sh`, get("a.invalid")],
      answer: ({ network, escape }) => ({
        allow: escape === undefined,
        ...(network ? { network: "once" } : {}),
      }),
    });
    assertEquals(named.asked[0]?.network, { hosts: ["a.invalid"] });
  },
});

Deno.test({
  ...jailed("a project that redirects a program to another host reaches only the host of the prompt"),
  fn: async () => {
    await using g = await sandboxDirs();
    await Deno.writeTextFile(
      `${g.ws}/fetch.sh`,
      "curl -sS http://evil.invalid/ 2>&1; curl -sS http://a.invalid/ 2>&1; false\n",
    );
    const line = `${get("a.invalid")}; sh fetch.sh`;
    const { asked, results } = await play(g, {
      commands: [line],
      answer: ({ escape }) => ({ allow: true, network: "once", ...(escape ? { allow: false } : {}) }),
    });
    const [first, second] = asked;
    assertEquals(first?.network, { hosts: ["a.invalid"] });
    const lines = (results[0] ?? "").split("\n").filter((each) => each !== "");
    assertMatch(lines[0] ?? "", PASSED);
    assertMatch(lines[1] ?? "", /Blocked by \[sandbox\] network_hosts: evil\.invalid:80 is not listed/);
    assertMatch(lines[2] ?? "", PASSED);
    // The next line names the contacted host.
    assertEquals([second?.escape?.network, second?.network], [{ hosts: ["evil.invalid"] }, {
      hosts: ["evil.invalid"],
    }]);
  },
});

Deno.test({
  ...jailed(
    "a network grant for the session lasts until its end and only for its hosts",
  ),
  fn: async () => {
    await using g = await sandboxDirs();
    const answer: Answers = ({ network, escape }) => ({
      allow: escape === undefined,
      ...(network?.hosts.includes("a.invalid") ? { network: "session" } : {}),
    });
    const { asked, results } = await play(g, {
      commands: [get("a.invalid"), `sleep 0; ${get("a.invalid")}; true`, get("b.invalid")],
      answer,
    });
    assertEquals(asked.map(({ network }) => network?.hosts), [["a.invalid"], undefined, ["b.invalid"]]);
    assertMatch(results[0] ?? "", PASSED);
    assertMatch(results[1] ?? "", PASSED);
    assertMatch(results[2] ?? "", /b\.invalid:80 is not listed/);
    const next = await play(g, { commands: [get("a.invalid")], answer: () => ({ allow: false }) });
    assertEquals(next.asked[0]?.network, { hosts: ["a.invalid"] });
  },
});

Deno.test({
  ...jailed(
    "after a network failure in the sandbox network access is offered before a run without sandbox",
  ),
  fn: async () => {
    await using g = await sandboxDirs();
    const line = `echo run >> runs; ${get("a.invalid")}; touch ${g.outside}/made 2>/dev/null; false`;
    const once: Answers = ({ escape }) => ({ allow: true, ...(escape ? { network: "once" } : {}) });
    const { asked, results } = await play(g, { commands: [line], answer: once, allow: ["Bash"] });
    assertEquals(asked.length, 1);
    assertEquals(asked[0]?.network, { hosts: ["a.invalid"] });
    assertStringIncludes(results[0] ?? "", "run again with a network, as the user allowed");
    assertStringIncludes(results[0] ?? "", "getaddrinfo ENOTFOUND a.invalid");
    assertEquals(await Deno.readTextFile(`${g.ws}/runs`), "run\nrun\n");
    assert(!await Deno.lstat(`${g.outside}/made`).then(() => true, () => false), "it was not in the sandbox");
  },
});

Deno.test({
  ...jailed("headless runs print the lines of the configuration that open the host"),
  fn: async () => {
    await using g = await sandboxDirs();
    const { asked, events } = await play(g, { commands: [get("a.invalid")], allow: ["Bash"] });
    const notice = events.flatMap((event) =>
      event.type === "notice" && event.code === "sandbox.denied" ? [event.text] : []
    );
    assertEquals(asked, []);
    assertMatch(notice[0] ?? "", /config\.toml:\n\[sandbox\]\nnetwork_hosts = \["a\.invalid"\]$/);
  },
});

Deno.test({
  ...jailed("no network is offered if it is available, if the host is open, or in read-only mode"),
  fn: async () => {
    await using g = await sandboxDirs();
    const answer: Answers = () => ({ allow: true });
    const command = get("a.invalid");
    const scenarios: Scenario[] = [
      { commands: [command], answer, sandbox: { network: true } },
      { commands: [command], answer, sandbox: { network_hosts: ["*.invalid"] } },
      { commands: [command], answer, sandbox: { bash: "off" } },
      { commands: [command], answer, permissionMode: "read-only" },
      { commands: [command], answer, permissionMode: "plan" },
    ];
    for (const scenario of scenarios) {
      const { asked } = await play(g, scenario);
      assertEquals(asked.filter(({ network }) => network), [], JSON.stringify(scenario));
    }
  },
});

Deno.test({
  ...jailed("package-registries allows the hosts of all known package managers"),
  fn: async () => {
    await using g = await sandboxDirs();
    const hosts = ["static.crates.io", "jsr.io", "proxy.golang.org", "rubygems.org"];
    const { asked, results } = await play(g, {
      commands: [
        `for h in ${hosts.join(" ")} package-registries github.com; do curl -sS http://$h/ 2>&1; done; true`,
        "npm install x",
      ],
      answer: () => ({ allow: true }),
      sandbox: { network_hosts: ["package-registries"] },
    });
    const refused = (results[0] ?? "").match(/\S+(?=:80 is not listed)/g);
    assertEquals(refused, ["package-registries", "github.com"]);
    assertEquals(asked.map(({ network }) => network).slice(1), [undefined]);
  },
});
