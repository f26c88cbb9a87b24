import type { Assembly } from "../../../assembly/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { openGoal } from "../../../session/mod.ts";
import { confirmed } from "../../asking.ts";
import type { CommandBody, CommandHost } from "../../command.ts";

/** How user and agent work together, how approvals are given, and whether files may change. */
const MODES = ["normal", "plan", "goal", "ask", "auto", "yolo", "read-only", "write"] as const;
type ModeName = (typeof MODES)[number];

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const { modes } = session;
    const now = [...new Set([modes.collaboration, modes.approval, permissionName(modes)])];
    if (argument === "" && host.headless) {
      return host.say(now.map((name) => `- \`${name}\`: ${texts.modes[name]}`).join("\n"));
    }
    const [first = "", objective = ""] = argument.split(/\s+(.*)/s);
    const wanted = first.toLowerCase() || await host.choose(
      texts.whichMode(now.join(", ")),
      MODES.map((name) => ({ label: name, detail: texts.modes[name], value: name })),
      { current: MODES.indexOf(modes.collaboration) },
    );
    if (wanted === undefined) return;
    const name = MODES.find((each) => each === wanted);
    if (name === undefined || (objective !== "" && name !== "goal")) {
      throw new ReasonixError(texts.noMode(name === undefined ? wanted : argument), {
        exit: "usage",
        remedy: texts.modesAre(MODES.join(", ")),
      });
    }
    if (name === "goal") return await beginGoal(host, session, objective);
    if (name === "yolo" && modes.approval !== "yolo" && !host.headless) {
      if (!await confirmed(host, texts.reallyYolo)) return;
    }
    if (name === "normal") await workNormally(session);
    else if (name === "plan") await modes.setCollaboration(name);
    else if (name === "ask" || name === "auto" || name === "yolo") await modes.setApproval(name);
    else await modes.setPermission(name === "write" ? modes.writing : name);
    host.say(host.headless ? `\`${name}\`: ${texts.modes[name]}` : texts.modes[name]);
  },
  async complete(host) {
    const { modes } = await loadTexts("setting_commands", host.locale);
    return MODES.map((value) => ({ value, detail: modes[value] }));
  },
};

async function beginGoal(host: CommandHost, session: Assembly, given: string): Promise<void> {
  const { objectiveOf } = await loadTexts("setting_commands", host.locale);
  const objective = given || (host.headless ? "" : await host.prompt(objectiveOf));
  if (objective === undefined) return;
  const { text } = await (await session.goals()).begin({ objective, checks: [] });
  host.send(text);
}

/** Leaves plan and goal: a plan that waits is dropped, and so is the goal. */
async function workNormally(session: Assembly): Promise<void> {
  const { modes } = session;
  if (modes.planWaits) {
    await session.open();
    await (await session.plans()).reject();
  }
  await modes.setCollaboration("normal");
  if (openGoal(session.session.state)) await (await session.goals()).clear();
}

function permissionName({ permission }: Assembly["modes"]): ModeName {
  return permission === "read-only" || permission === "plan" ? permission : "write";
}
