import type { RewindScope } from "../../../control/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
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
    const turn = number === undefined ? await chosenTurn(host) : Number(number);
    if (turn === undefined) return;
    // Who names everything on one line means files and conversation.
    const scope = named ?? (number === undefined ? await chosenScope(host) : "both");
    if (scope === undefined) return;
    await bringBack(host, { turn, scope, done: texts.rewound(turn, texts.scopes[scope]) });
  },
  complete: async (host) => turnValues((await host.session()).session.state),
};

/** The turn whose end the user wants to be back at; 0 is before the first. */
async function chosenTurn(host: CommandHost): Promise<number | undefined> {
  const texts = await loadTexts("session_commands", host.locale);
  const values = turnValues((await host.session()).session.state);
  return await host.choose(texts.whichTurn, [
    ...values.map(({ value, detail = "" }) => ({ label: `#${value} ${detail}`, value: Number(value) })),
    { label: texts.beforeFirst, value: 0 },
  ]);
}

async function chosenScope(host: CommandHost): Promise<RewindScope | undefined> {
  const texts = await loadTexts("session_commands", host.locale);
  return await host.choose(
    texts.whichScope,
    SCOPES.map((scope) => ({ label: texts.scopes[scope], value: scope })),
  );
}
