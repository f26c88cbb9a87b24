import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { copyText } from "../../../util/clipboard.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session: { state }, paths } = await host.session();
    const answer = state.turns.findLast(({ answer = "" }) => answer.trim() !== "")?.answer;
    if (answer === undefined) return host.say(texts.noAnswer);
    const text = argument === "" ? answer : block(answer, argument, texts);
    const way = await copyText(text, {
      env: paths.env,
      untrusted: [paths.cwd],
      ...(host.control ? { control: (sequence) => host.control?.(sequence) } : {}),
    });
    if (way.kind === "none") {
      throw new ReasonixError(texts.noClipboard, { remedy: texts.noClipboardRemedy });
    }
    const characters = [...text].length;
    host.say(
      way.kind === "tool"
        ? texts.copiedByTool(characters, way.tool)
        : way.cut === undefined
        ? texts.copiedByTerminal(characters)
        : texts.copiedInPart(way.cut, characters),
    );
  },
  async complete(host) {
    const { turns } = (await host.session()).session.state;
    return codeBlocks(turns.findLast(({ answer = "" }) => answer !== "")?.answer ?? "")
      .map((code, at) => ({ value: String(at + 1), detail: code.split("\n")[0] ?? "" }));
  },
};

type SessionTexts = Awaited<ReturnType<typeof loadTexts<"session_commands">>>;

/** The nth code block of an answer. */
function block(answer: string, argument: string, texts: SessionTexts): string {
  const blocks = codeBlocks(answer);
  const found = /^\d+$/.test(argument) ? blocks[Number(argument) - 1] : undefined;
  if (found !== undefined) return found;
  throw new ReasonixError(texts.noBlock(argument), {
    exit: "usage",
    remedy: texts.blockCount(blocks.length),
  });
}

/** The code of fenced blocks, without the fences. */
function codeBlocks(markdown: string): string[] {
  const blocks: string[] = [];
  let open: { readonly fence: string; readonly indent: number; readonly lines: string[] } | undefined;
  for (const line of markdown.split("\n")) {
    const [, indent = "", fence] = /^(\s*)(`{3,}|~{3,})/.exec(line) ?? [];
    if (open) {
      const { fence: mark, indent: depth, lines } = open;
      const isEnd = fence !== undefined && fence.startsWith(mark) && line.trim() === fence;
      if (!isEnd) lines.push(line.replace(new RegExp(`^\\s{0,${depth}}`), ""));
      else {
        blocks.push(lines.join("\n"));
        open = undefined;
      }
    } else if (fence !== undefined) open = { fence, indent: indent.length, lines: [] };
  }
  return open ? [...blocks, open.lines.join("\n")] : blocks;
}
