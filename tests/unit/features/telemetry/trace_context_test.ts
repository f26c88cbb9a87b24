/** `TRACEPARENT` and `TRACESTATE` of the environment: the parent of a run, where they are valid. */
import { assemble } from "../../../../src/features/mod.ts";
import { loadTrustedConfig } from "../../../../src/run/mod.ts";
import { call, say, scriptedProvider, tool } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { OtlpReceiver } from "../../../support/otlp_receiver.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

/** The variables that a call of a run gets, and the spans that the run has sent. */
async function runWithin(inherited: Readonly<Record<string, string>>) {
  await using receiver = new OtlpReceiver();
  await using temp = await makeTempDir();
  const paths = { cwd: temp.path, home: `${temp.path}/home`, env: (name: string) => inherited[name] };
  let variables: Readonly<Record<string, string>> = {};
  const probe = tool("probe", true, (_args, { trace, callId }) => {
    variables = trace?.(callId) ?? {};
    return Promise.resolve({ content: "", summary: "" });
  });
  const flags = { telemetry: { otlp: receiver.url }, permissions: { allow: ["probe"] } };
  const assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
    inMemory: true,
    provider: scriptedProvider([[call("1", "probe"), { type: "done", reason: "tool_calls" }], say("ok")]),
    tools: [probe],
  });
  await assembly.run("go");
  await assembly[Symbol.asyncDispose]();
  const { TRACEPARENT = "", ...rest } = variables;
  const [, trace, id, flag] = /^00-(\w{32})-(\w{16})-(\w\w)$/.exec(TRACEPARENT) ?? [];
  return { spans: receiver.spans, trace, id, flag, rest };
}

Deno.test("the span that the environment names is the parent of a run, and its state is passed on", async () => {
  const TRACESTATE = "rojo=00f067aa0ba902b7, congo=t61 rcWkgMzE";
  const { spans, trace, id, flag, rest } = await runWithin({
    TRACEPARENT: `00-${TRACE}-${SPAN}-01`,
    TRACESTATE,
  });
  assertEquals([trace, flag, rest], [TRACE, "01", { TRACESTATE: TRACESTATE.replace(" ", "") }]);
  const agent = spans.find(({ name }) => name.startsWith("invoke_agent"));
  assertEquals([agent?.trace, agent?.parent], [TRACE, SPAN]);
  const probe = spans.find((span) => span.id === id);
  assertEquals([probe?.name, probe?.parent], ["execute_tool probe", agent?.id]);
});

Deno.test("a later version may have more fields", async () => {
  const { trace } = await runWithin({ TRACEPARENT: `cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like` });
  assertEquals(trace, TRACE);
});

Deno.test("a run within a trace that is not sampled sends no spans, and says so to its commands", async () => {
  const { spans, trace, flag } = await runWithin({ TRACEPARENT: `00-${TRACE}-${SPAN}-00` });
  assertEquals([trace, flag, spans], [TRACE, "00", []]);
});

const STATES: Readonly<Record<string, string>> = {
  "a member without a value": "a=1,b",
  "a name in capitals": "A=1",
  "more than 32 members": Array.from({ length: 33 }, (_, at) => `m${at}=1`).join(","),
  "a control character": "a=1\u0007",
};

for (const [what, TRACESTATE] of Object.entries(STATES)) {
  Deno.test(`a state with ${what} is dropped, and not its trace`, async () => {
    const { trace, rest } = await runWithin({ TRACEPARENT: `00-${TRACE}-${SPAN}-01`, TRACESTATE });
    assertEquals([trace, rest], [TRACE, { TRACESTATE: "" }]);
  });
}

const INVALID: Readonly<Record<string, string>> = {
  "an empty text": "",
  "the version ff": `ff-${TRACE}-${SPAN}-01`,
  "capitals": `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  "a trace of zeros": `00-${"0".repeat(32)}-${SPAN}-01`,
  "a span of zeros": `00-${TRACE}-${"0".repeat(16)}-01`,
  "more fields than version 00 has": `00-${TRACE}-${SPAN}-01-more`,
  "too few fields": `00-${TRACE}-${SPAN}`,
  "a line feed": `00-${TRACE}-${SPAN}-01\n`,
};

for (const [what, TRACEPARENT] of Object.entries(INVALID)) {
  Deno.test(`TRACEPARENT with ${what} is ignored with its state`, async () => {
    const { spans, trace, flag, rest } = await runWithin({ TRACEPARENT, TRACESTATE: "a=1" });
    assertMatch(trace ?? "", /^(?!0af765)\w{32}$/);
    assertEquals([flag, rest], ["01", { TRACESTATE: "" }]);
    const agent = spans.find(({ name }) => name.startsWith("invoke_agent"));
    assert(agent && agent.parent === undefined && agent.trace === trace);
  });
}
