/** A single run without the jail, offered after the jail stopped a command, in the assembled agent. */
import { createAgent } from "../../mod.ts";
import { type ApprovalAnswer, type Event, textOf } from "../../src/core/mod.ts";
import type { ApprovalRequest } from "../../src/permission/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { bash } from "../conformance/sandbox/attacks.ts";
import { startModelServer } from "../support/model_server.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type SandboxDirs, sandboxDirs } from "../unit/sandbox/support.ts";

interface Told {
  /** Returns the result of the model's command. */
  readonly result: string;
  readonly asked: readonly ApprovalRequest[];
  readonly events: readonly Event[];
}

interface Scenario {
  readonly command: string;
  /** Absent: no prompt is possible. */
  readonly answer?: Partial<ApprovalAnswer>;
  readonly config?: Record<string, unknown>;
  readonly permissionMode?: "read-only" | "plan";
}

async function runWith(
  g: SandboxDirs,
  { command, answer, config = {}, permissionMode }: Scenario,
): Promise<Told> {
  await using server = startModelServer([{ calls: [bash(command)] }, { text: "done" }]);
  const asked: ApprovalRequest[] = [];
  const events: Event[] = [];
  const approver = {
    ask(request: ApprovalRequest) {
      asked.push(request);
      return Promise.resolve<ApprovalAnswer>({ allow: false, scope: "once", ...answer });
    },
  };
  const providers = [{ name: "mock", kind: "openai", base_url: server.url, model: "mock-1" }];
  await using agent = await createAgent({
    config: { default_model: "mock", providers, permissions: { allow: ["Bash"] }, ...config },
    cwd: g.ws,
    home: g.home,
    ...(answer ? { approver } : {}),
    ...(permissionMode ? { permissionMode } : {}),
    onEvent: (event) => void events.push(event),
  });
  await agent.run("go");
  return { result: server.requests[1]?.json.messages.at(-1).content as string, asked, events };
}

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);
const COUNT = "echo run >> runs; cat runs";

Deno.test({
  ...jailed("a command that the jail stopped runs once without the jail after the user's approval"),
  fn: async () => {
    await using g = await sandboxDirs();
    const command = `${COUNT}; touch ${g.outside}/made && echo out`;
    const { result, asked, events } = await runWith(g, { command, answer: { allow: true } });
    assertEquals(asked.length, 1);
    assertEquals([asked[0]?.subject, asked[0]?.scopes], [command, ["once", "session"]]);
    assertMatch(
      textOf(asked[0]?.reason ?? ""),
      /seems to have been stopped by the sandbox \(".*Read-only file system"\)/,
    );
    assertEquals(
      result.trim(),
      "[the sandbox stopped this command; run again without it, as the user allowed]\nrun\nrun\nout",
    );
    assert(await exists(`${g.outside}/made`));
    const decisions = events.flatMap((event) => event.type === "approval.decision" ? [event.decision] : []);
    assertEquals(decisions.at(-1), "allow");
    assert(events.some((event) => event.type === "approval.request" && event.subject === command));
  },
});

Deno.test({
  ...jailed("a declined or unoffered escape keeps the failure"),
  fn: async () => {
    await using g = await sandboxDirs();
    const command = `${COUNT}; touch ${g.outside}/made`;
    const declined = await runWith(g, { command, answer: { allow: false, note: "not today" } });
    assertStringIncludes(declined.result, "Read-only file system");
    assertMatch(declined.result, /\[the user declined .*not today\]/);
    await Deno.remove(`${g.ws}/runs`);
    const alone = await runWith(g, { command });
    assertStringIncludes(alone.result, "Read-only file system");
    assert(!alone.events.some((event) => event.type === "approval.request"));
    assertEquals(await Deno.readTextFile(`${g.ws}/runs`), "run\n");
    assert(!await exists(`${g.outside}/made`));
  },
});

Deno.test({
  ...jailed("no escape is offered in read-only mode, in an enforced jail, or for other failures"),
  fn: async () => {
    await using g = await sandboxDirs();
    const command = `cat ${g.ws}/missing; touch ${g.outside}/made`;
    const answer = { allow: true };
    const scenarios: Scenario[] = [
      { command, answer, config: { tools: { writes: "deny" } } },
      { command: "touch /usr/made", answer, config: { sandbox: { bash: "enforce" } } },
      { command: "cat /missing-file", answer },
      { command: "cat /missing; echo Read-only file system >&2; false", answer, permissionMode: "plan" },
    ];
    for (const scenario of scenarios) {
      const { asked } = await runWith(g, scenario);
      assertEquals(
        asked.filter((request) => textOf(request.reason).includes("sandbox")),
        [],
        JSON.stringify(scenario),
      );
    }
    assert(!await exists(`${g.outside}/made`));
  },
});

Deno.test({
  ...jailed(
    "a command that wrote outside the roots runs again with its directory open until the session ends",
  ),
  fn: async () => {
    await using g = await sandboxDirs();
    const command = `${COUNT}; touch ${g.outside}/made && echo out`;
    for (const bash of ["on", "enforce"]) {
      const { result, asked } = await runWith(g, {
        command,
        answer: { allow: true, scope: "session" },
        config: bash === "on" ? {} : { sandbox: { bash } },
      });
      assertEquals(
        asked.map(({ directory, scopes, escape }) => [directory, scopes, escape?.enforced]),
        [[g.outside, ["once", "session"], bash === "on" ? undefined : true]],
      );
      assertStringIncludes(result, `run again with ${g.outside} writable, as the user allowed]`);
      assertStringIncludes(result, "out");
      assert(await exists(`${g.outside}/made`));
      await Deno.remove(`${g.outside}/made`);
    }
  },
});

Deno.test({
  ...jailed("an enforced sandbox offers a directory or a network, and never a run without the jail"),
  fn: async () => {
    await using g = await sandboxDirs();
    const config = { sandbox: { bash: "enforce" } };
    const answer = { allow: true };
    const written = await runWith(g, { command: `touch ${g.outside}/made`, answer, config });
    assertStringIncludes(written.result, "the sandbox is enforced, and the answer opened neither");
    assert(!await exists(`${g.outside}/made`));
    const command = "curl -sS --max-time 5 http://a.invalid/ 2>&1";
    const online = await runWith(g, { command, answer: { allow: true, network: "once" }, config });
    assertEquals(online.asked.map(({ network, escape }) => [network, escape?.enforced]), [
      [{ hosts: ["a.invalid"] }, true],
    ]);
    assertStringIncludes(online.result, "run again with a network, as the user allowed");
  },
});

Deno.test({
  ...jailed("a network is offered for the host that the command line or its output names, not for any host"),
  fn: async () => {
    await using g = await sandboxDirs();
    const fetch = "python3 -c 'import sys,urllib.request as r; r.urlopen(sys.argv[1])'";
    const lines = [
      `${fetch} http://named.invalid/x 2>&1`,
      "echo \"wget: unable to resolve host address 'printed.invalid'\"; false",
    ];
    const hosts = [];
    for (const command of lines) {
      const { asked } = await runWith(g, { command, answer: { allow: false } });
      hosts.push(...asked.map(({ network }) => network?.hosts));
    }
    assertEquals(hosts, [["named.invalid"], ["printed.invalid"]]);
  },
});
