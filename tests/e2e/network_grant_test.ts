/** The network that a person opens for a command, still in the sandbox, in the assembled agent. */
import { createAgent } from "../../mod.ts";
import type { ApprovalAnswer, Event } from "../../src/core/mod.ts";
import type { ApprovalRequest } from "../../src/permission/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { bash } from "./attack_lab.ts";
import { startModelServer } from "../support/model_server.ts";
import { jailed } from "../unit/sandbox/command/jail_support.ts";
import { type Ground, ground } from "../unit/sandbox/support.ts";

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
  g: Ground,
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
/** The proxy of the sandbox let it through: then only the name is not known. */
const NO_SUCH_NAME = /ENOTFOUND|EAI_AGAIN|getaddrinfo|lookup/;
const REFUSED = /Blocked by \[sandbox\] network_hosts/;
const online = (network: ApprovalAnswer["network"]): Answers => () => ({ allow: true, network });

Deno.test({
  ...jailed(
    "a network that was opened once reaches the named host in one command, and no other host or command",
  ),
  fn: async () => {
    await using g = await ground();
    const commands = [`${get("a.invalid")}; wget -qO- http://b.invalid`, get("a.invalid")];
    const { asked, results } = await play(g, {
      commands: [`${get("a.invalid")}; H=b.invalid; curl -sS http://$H/ 2>&1`, commands[1] ?? ""],
      answer: (request) => ({
        allow: request.escape === undefined,
        ...(asked1(request) ? { network: "once" } : {}),
      }),
    });
    console.log(asked, results);
  },
});
const asked1 = (r: ApprovalRequest) => r.subject.includes("$H");
