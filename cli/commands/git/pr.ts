import { HINT, write, WRITING_FLAGS } from "./commit.ts";
import { command, flag, type FlagsOf, option } from "../../command.ts";
import type { CliContext } from "../../terminal/process.ts";
import { type ResultEntry, ResultsDir } from "../../../src/batch/mod.ts";
import { openPatchRequests, openPullRequest, type PatchRequest } from "../../../src/commit/mod.ts";
import { message, type Text } from "../../../src/core/mod.ts";
import { loadPublish } from "../../../src/review/mod.ts";
import { loadEvents } from "../../../src/session/mod.ts";
import { attempt } from "../../../src/util/lazy.ts";
import { cutText, oneLine } from "../../../src/util/terminal_text.ts";
import { userText } from "../../../src/util/user_text.ts";
import { codeSpan, fenced } from "../../../src/view/mod.ts";

const REQUEST_FLAGS = {
  base: option("Merge into this branch; default: that of the remote", "branch"),
  draft: flag("Open it as a draft"),
} as const;

export const prCommand = command({
  description:
    "Push the branch and open a pull request with your gh or glab; without one, print its text and address.",
  flags: { ...REQUEST_FLAGS, ...WRITING_FLAGS },
  rest: HINT,
  async run({ base, draft = false, ...flags }, ...words) {
    const options = { program: "pr", title: "Pull request", flags, words } as const;
    await write(this, options, (writing) => openPullRequest({ ...writing, base, draft }));
  },
});

interface BatchRequestFlags extends FlagsOf<typeof WRITING_FLAGS>, FlagsOf<typeof REQUEST_FLAGS> {
  readonly rate?: number;
}

/** GitHub lets a user create 500 issues, comments and pull requests an hour. */
const RATE = 8;

/** `reasonix batch pr`: a pull request for each patch of a directory of results. */
export async function openBatchRequests(
  context: CliContext,
  path: string,
  { rate = RATE, base, draft = false, ...flags }: BatchRequestFlags,
): Promise<void> {
  const results = ResultsDir.read(path);
  const { harmless } = await loadPublish();
  const options = { program: "pr", title: "Pull requests", flags, words: [] } as const;
  await write(context, options, async (writing) => {
    const requests: PatchRequest[] = [];
    for (const entry of results.entries()) {
      const request = requestOf(entry, { results, harmless });
      if ("patch" in request) requests.push(request.patch);
      else writing.host.report(message`${entry.id}: left out, ${request.reason}`);
    }
    if (requests.length > 0) return await openPatchRequests({ ...writing, base, draft, rate, requests });
    writing.host.report(message`There is no patch to open a pull request for`);
    return true;
  });
}

const MAX_TITLE = 72;
const MAX_ANSWER = 10_000;
const MAX_PROMPT = 4_000;

interface RequestDeps {
  readonly results: ResultsDir;
  readonly harmless: (markdown: string, home: string) => string;
}

function requestOf(
  { id, name, stored, isFinal, damage }: ResultEntry,
  { results: { path, manifest }, harmless }: RequestDeps,
): { readonly patch: PatchRequest } | { readonly reason: Text } {
  if (damage !== undefined) return { reason: damage };
  if (!stored || !isFinal) return { reason: message`it has no result` };
  const { result, base, repo, started: date } = stored;
  if (!result.ok) {
    return { reason: result.reason === "check" ? message`a check failed` : message`it was not done` };
  }
  if (!result.patch) return { reason: message`nothing was changed` };
  const session = attempt(() => loadEvents(`${path}/tasks/${name}/session.jsonl`).state);
  const prompt = userText(session?.turns[0]?.prompt ?? "").trim();
  const [first = ""] = prompt.split("\n", 1);
  // Tasks without an id have the number of their line.
  const title = first === "" ? `Task ${id}` : /^\d+$/.test(id) ? first : `${id}: ${first}`;
  const { answer, checks, model } = result;
  const body = (home: string) =>
    [
      harmless(cutText(answer.trim(), MAX_ANSWER), home),
      ...prompt === "" ? [] : ["The task:", fenced(cutText(prompt, MAX_PROMPT), "text")],
      ...checks.length === 0
        ? []
        : ["Checks that passed:", fenced(checks.map(({ command }) => command).join("\n"), "sh")],
      `Task ${codeSpan(oneLine(id))} of ${codeSpan(oneLine(manifest.file))}, done with Reasonix` +
      `${model === null ? "" : ` and ${codeSpan(oneLine(model))}`}.`,
    ].filter((part) => part !== "").join("\n\n");
  const file = `${path}/${result.patch}`;
  return { patch: { ...{ id, name, file, base, repo, date, body }, title: oneLine(title, MAX_TITLE) } };
}
