import type { Assembly } from "../../../assembly/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { confirmed } from "../../asking.ts";
import type { CommandBody } from "../../command.ts";

const MODES = ["ask", "auto", "yolo", "read-only", "plan", "write"] as const;
type ModeName = (typeof MODES)[number];

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { modes } = await host.session();
    const now = [modes.approval, permissionName(modes)];
    if (argument === "" && host.headless) {
      return host.say(now.map((name) => `- \`${name}\`: ${texts.modes[name]}`).join("\n"));
    }
    const wanted = argument.toLowerCase() || await host.choose(
      texts.whichMode(now.join(", ")),
      MODES.map((name) => ({ label: name, detail: texts.modes[name], value: name })),
      { current: MODES.indexOf(modes.approval) },
    );
    if (wanted === undefined) return;
    const name = MODES.find((each) => each === wanted);
    if (name === undefined) {
      throw new ReasonixError(texts.noMode(wanted), {
        exit: "usage",
        remedy: texts.modesAre(MODES.join(", ")),
      });
    }
    if (name === "yolo" && modes.approval !== "yolo" && !host.headless) {
      if (!await confirmed(host, texts.reallyYolo)) return;
    }
    if (name === "ask" || name === "auto" || name === "yolo") await modes.setApproval(name);
    else await modes.setPermission(name === "write" ? modes.writing : name);
    host.say(host.headless ? `\`${name}\`: ${texts.modes[name]}` : texts.modes[name]);
  },
  async complete(host) {
    const { modes } = await loadTexts("setting_commands", host.locale);
    return MODES.map((value) => ({ value, detail: modes[value] }));
  },
};

function permissionName({ permission }: Assembly["modes"]): ModeName {
  return permission === "read-only" || permission === "plan" ? permission : "write";
}
