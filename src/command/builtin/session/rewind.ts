import type { RewindScope } from "../../../control/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";
import { chooseMoment } from "../../panels/turns.ts";
import { bringBack, turnValues } from "../../turns.ts";

const SCOPES: readonly RewindScope[] = ["both", "code", "conversation"];

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const words = argument.split(/\s+/).filter((word) => word !== "");
    const named = SCOPES.find((scope) => words.includes(scope));
    const [number, extra] = words.filter((word) => word !== named);
    if (extra !== undefined || (number !== undefined && !/^\d+$/.test(number))) {
      throw new ReasonixError(texts.noTurn(extra ?? number ?? ""), {
        exit: "usage",
        remedy: texts.rewindRemedy,
      });
    }
    // Who names everything on one line means files and conversation.
    const moment = number === undefined
      ? await chooseMoment(host, named)
      : { turn: Number(number), scope: named ?? "both" };
    if (!moment) return;
    const { turn, scope } = moment;
    await bringBack(host, { turn, scope, done: texts.rewound(turn, texts.scopes[scope]) });
  },
  complete: async (host) => turnValues((await host.session()).session.state),
  async completeNext(host, { before }) {
    const { scopes } = await loadTexts("session_commands", host.locale);
    return before.length > 1 ? [] : SCOPES.map((value) => ({ value, detail: scopes[value] }));
  },
};
