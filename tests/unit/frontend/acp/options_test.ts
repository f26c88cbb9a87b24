import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { modeState } from "../../../../src/frontend/acp/modes.ts";
import { configOptions, factUpdates } from "../../../../src/frontend/acp/options.ts";
import { type SessionDetails, SessionWatcher } from "../../../../src/frontend/session/facts.ts";
import { changeSetting, sessionSettings } from "../../../../src/frontend/session/settings.ts";
import { openGoal } from "../../../../src/session/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { CommandFixture } from "../../../support/command_fixture.ts";

/** Two providers; the models of one think. */
const PROVIDERS = `
[[providers]]
name = "deepseek"
kind = "openai"
base_url = "http://127.0.0.1:9"
models = ["deepseek-v4-pro"]
`;

async function answerOf(host: CommandFixture) {
  return await new SessionWatcher({ locale: () => host.locale, changed() {} }).settings(await host.session());
}

const optionsOf = async (host: CommandFixture) => configOptions(await answerOf(host));

async function change(host: CommandFixture, id: string, value: unknown): Promise<void> {
  await changeSetting({ commandsOf: () => host, submissions: { between: (work) => work() } }, id, value);
}

Deno.test("configOptions are mode, model by provider, and the effort of models that have one", async () => {
  await using host = await CommandFixture.open({ config: PROVIDERS });
  const [mode, model, effort, ...rest] = await optionsOf(host);
  assertEquals(rest, []);
  assertEquals([mode?.id, mode?.category, mode?.currentValue], ["mode", "mode", "ask"]);
  assertEquals([model?.id, model?.category, model?.currentValue], ["model", "model", "mock/one"]);
  assertEquals([effort?.id, effort?.category, effort?.currentValue], ["effort", "thought_level", "default"]);
  assert(mode?.type === "select" && model?.type === "select");
  const modes = mode.options.map((each) => "value" in each ? each.value : "");
  assertEquals(modes, ["ask", "auto", "yolo", "plan", "read-only"]);
  const groups = model.options.map((each) =>
    "group" in each ? [each.group, ...each.options.map(({ value, name }) => `${value} ${name}`)] : []
  );
  assertEquals(groups, [
    ["mock", "mock/one one", "mock/two two"],
    ["deepseek", "deepseek/deepseek-v4-pro deepseek-v4-pro"],
  ]);
  const { availableModes, currentModeId } = modeState(await answerOf(host));
  assertEquals([currentModeId, ...availableModes.map(({ id }) => id)], ["ask", ...modes]);
});

Deno.test("changeSetting switches modes, model and effort, and keeps the session", async () => {
  await using host = await CommandFixture.open({ config: PROVIDERS });
  await host.type("hello");
  const { session: { id } } = await host.session();
  for (const mode of ["auto", "plan", "read-only", "yolo", "plan", "ask", "read-only", "auto"]) {
    await change(host, "mode", mode);
    const { modes } = await host.session();
    assertEquals((await optionsOf(host))[0]?.currentValue, mode);
    const writes = mode !== "plan" && mode !== "read-only";
    assertEquals(modes.permission, writes ? "workspace-write" : mode);
  }
  await change(host, "effort", "high");
  assertEquals((await host.session()).effort, "high");
  await change(host, "effort", "high");
  await change(host, "model", "mock/two");
  const { session, provider } = await host.session();
  assertEquals([session.id, provider.model.id], [id, "two"]);
  assertEquals(host.reopened, [{ effort: "high", resume: id }, { model: "mock/two", resume: id }]);
  assertEquals([host.asked, host.said], [[], []]);
});

Deno.test("changeSetting switches approval and way of working apart; leaving a goal clears it", async () => {
  await using host = await CommandFixture.open();
  const session = await host.session();
  const live = { commandsOf: () => host, submissions: { between: (work: () => Promise<void>) => work() } };
  const change = (id: string, value: string) => changeSetting(live, id, value, "two");
  const now = async () => {
    const all = await sessionSettings(session, "en", "two");
    return all.slice(0, 2).map(({ current }) => current);
  };
  await host.type("/goal tidy up");
  assertEquals([await now(), openGoal(session.session.state)?.objective], [["ask", "goal"], "tidy up"]);
  await change("approval", "auto");
  assertEquals(await now(), ["auto", "goal"]);
  await change("collaboration", "plan");
  assertEquals([await now(), openGoal(session.session.state)], [["auto", "plan"], undefined]);
  await change("approval", "ask");
  assertEquals([await now(), session.modes.permission], [["ask", "plan"], "plan"]);
  const [approval] = await sessionSettings(session, "en", "two");
  assertEquals(approval?.choices.map(({ value }) => value), ["ask", "auto", "yolo"]);
  await change("collaboration", "normal");
  await change("approval", "read-only");
  assertEquals([await now(), session.modes.permission], [["read-only", "normal"], "read-only"]);
  await change("approval", "auto");
  assertEquals([await now(), session.modes.permission], [["auto", "normal"], "workspace-write"]);
  await assertRejects(() => change("mode", "auto"), ReasonixError, "there is no such setting");
});

Deno.test("changeSetting keeps the id of a session that has not begun", async () => {
  await using host = await CommandFixture.open();
  const { session: { id } } = await host.session();
  await change(host, "model", "mock/two");
  assertEquals(host.reopened, [{ model: "mock/two", sessionId: id }]);
});

Deno.test("changeSetting names the possible settings and values", async () => {
  await using host = await CommandFixture.open();
  const rows: readonly (readonly [id: string, value: unknown, message: string, remedy: string])[] = [
    ["theme", "dark", 'Cannot change "theme": there is no such setting', "use one of mode, model, effort"],
    [
      "mode",
      "full-access",
      'Cannot set mode to "full-access": there is no such value',
      "use one of ask, auto, yolo, plan, read-only",
    ],
    [
      "mode",
      true,
      "Cannot set mode to true: there is no such value",
      "use one of ask, auto, yolo, plan, read-only",
    ],
    [
      "model",
      "three",
      'Cannot set model to "three": there is no such value',
      "use one of mock/one, mock/two",
    ],
  ];
  for (const [id, value, message, remedy] of rows) {
    const error = await assertRejects(() => change(host, id, value), ReasonixError);
    assertEquals([error.message, error.remedy, error.exit], [message, remedy, "usage"]);
  }
});

Deno.test("SessionWatcher sends options, commands, usage and title when they change, and nothing twice", async () => {
  await using host = await CommandFixture.open();
  const sent: SessionUpdate[] = [];
  const kinds = () => sent.splice(0).map((update) => update.sessionUpdate);
  const details: SessionDetails[] = [];
  const facts = new SessionWatcher({
    locale: () => "en",
    details: true,
    changed(fact, before) {
      if (fact.kind === "details") details.push(JSON.parse(JSON.stringify(fact)));
      sent.push(...factUpdates(fact, before));
    },
  });
  const assembly = await host.session();
  await facts.settings(assembly);
  await facts.opened(assembly);
  const commands = sent.find((update) => update.sessionUpdate === "available_commands_update");
  assert(commands);
  const named = new Map(commands.availableCommands.map((each) => [each.name, each]));
  for (const name of ["quit", "new", "clear", "resume", "theme", "copy"]) {
    assertEquals(named.has(name), false);
  }
  assertEquals(named.get("rename")?.input?.hint, "<title>");
  // Modes and options were in the answer.
  assertEquals(kinds(), ["available_commands_update"]);
  await facts.opened(assembly);
  assertEquals(kinds(), []);
  // No event reports a switch before the first turn.
  await assembly.modes.setApproval("yolo");
  await facts.opened(assembly);
  assertEquals(kinds(), ["current_mode_update", "config_option_update"]);
  let asked = "";
  assembly.controller.subscribe((event) => {
    if (event.type === "message.user") asked = event.time;
    facts.event(event);
  });

  await host.write(".reasonix/commands/ship.md", "---\nargument-hint: VERSION\n---\nShip $ARGUMENTS");
  await host.type("hello\nyou");
  await facts.opened(assembly);
  const ship = sent.findLast((update) => update.sessionUpdate === "available_commands_update");
  assertEquals(ship?.availableCommands.find(({ name }) => name === "ship")?.input?.hint, "VERSION");
  const [info, ...again] = sent.filter((update) => update.sessionUpdate === "session_info_update");
  assertEquals([info?.title, info?.updatedAt, ...again], ["hello", asked]);
  assertEquals(new Set(kinds()), new Set(["session_info_update", "available_commands_update"]));

  const [first, last] = [details[0], details.at(-1)];
  assertEquals([first?.directory, first?.servers, first?.todos, first?.context], [
    assembly.cwd,
    [],
    [],
    undefined,
  ]);
  assertEquals([typeof last?.confined, typeof last?.memory, last?.model.id], [
    "boolean",
    "number",
    "one",
  ]);
  const items = [{ content: "Write it", status: "pending" }] as const;
  await assembly.controller.recorder.record({ type: "todo.update", items: [...items] });
  assertEquals(details.at(-1)?.todos, [...items]);

  await host.type("/rename Greeting");
  assertEquals(sent.map((update) => "title" in update && update.title), ["Greeting"]);
  sent.length = 0;
  await assembly.modes.setApproval("auto");
  await facts.opened(assembly);
  const modes = sent.map((update) => "currentModeId" in update ? update.currentModeId : update.sessionUpdate);
  assertEquals(modes, ["auto", "config_option_update"]);

  sent.length = 0;
  const joins = new SessionWatcher({
    locale: () => "en",
    changed: (...of) => sent.push(...factUpdates(...of)),
  });
  joins.title(assembly);
  assertEquals(kinds(), ["session_info_update"]);
  await joins.opened(assembly);
  assertEquals(kinds().includes("session_info_update"), false);
  joins.close();

  sent.length = 0;
  facts.close();
  await assembly.modes.setApproval("ask");
  await host.type("/rename Farewell");
  assertEquals(kinds(), []);
});
