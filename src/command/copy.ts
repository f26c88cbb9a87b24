import { ReasonixError } from "../core/mod.ts";
import { loadTexts } from "../i18n/mod.ts";
import { copyText } from "../util/clipboard.ts";
import type { CommandHost } from "./command.ts";

/** Copies a text to the clipboard of the user; `say` gets how. Throws a ReasonixError where there is none. */
export async function copyAndSay(
  host: Pick<CommandHost, "control" | "locale" | "session">,
  text: string,
  say: CommandHost["say"],
): Promise<void> {
  const texts = await loadTexts("session_commands", host.locale);
  const { paths: { env, cwd } } = await host.session();
  const way = await copyText(text, {
    env,
    untrusted: [cwd],
    ...(host.control ? { control: (sequence) => host.control?.(sequence) } : {}),
  });
  if (way.kind === "none") {
    throw new ReasonixError(texts.noClipboard, { remedy: texts.noClipboardRemedy });
  }
  const characters = [...text].length;
  say(
    way.kind === "tool"
      ? texts.copiedByTool(characters, way.tool)
      : way.cut === undefined
      ? texts.copiedByTerminal(characters)
      : texts.copiedInPart(way.cut, characters),
  );
}
