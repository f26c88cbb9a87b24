import { argument, command } from "../../command.ts";
import type { LineOptions } from "./line_chat.ts";
import { CHAT_FLAGS, type ChatFlags, startOf } from "../../run_flags.ts";
import { displayOf } from "../../terminal/display.ts";
import { inLanguage, languageOf } from "../../terminal/language.ts";
import {
  type CliContext,
  errorText,
  exitCodeOf,
  finalExitCode,
  processContext,
  runPaths,
} from "../../terminal/process.ts";
import type { LoadedConfig } from "../../../src/config/mod.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import { FRONTENDS } from "../../../src/frontend/mod.ts";
import { lazy } from "../../../src/util/lazy.ts";
import { wantsLinks } from "../../../src/view/mod.ts";

/** `reasonix chat`: the chat on a terminal, lines in and answers out everywhere else. */
async function chat(this: CliContext, flags: ChatFlags, ...words: string[]): Promise<void> {
  const text = words.join(" ").trim();
  const first = flags.file ? await withFirstFiles(this, flags, text) : text;
  const why = plainLines(this, flags);
  this.process.exitCode = why === undefined
    ? await onTerminal(this, flags, first)
    : await inLines(this, flags, { first, why });
}

async function withFirstFiles(
  context: CliContext,
  { file = [], dir }: ChatFlags,
  text: string,
): Promise<string> {
  if (text === "") {
    throw usageError(
      message`Cannot attach files to a chat without a first message`,
      message`write one: reasonix chat --file FILE "what is this?", or write @FILE in the chat`,
    );
  }
  return (await import("./attached_files.ts")).withFiles(text, file, runPaths(context, dir).cwd);
}

export async function bareChat(): Promise<number> {
  const context = processContext();
  try {
    await chat.call(context, {});
    return finalExitCode(context);
  } catch (error) {
    context.process.stderr.write(`${errorText(await inLanguage(error, languageOf(context).locale))}\n`);
    return exitCodeOf(error);
  }
}

async function onTerminal(context: CliContext, flags: ChatFlags, first: string): Promise<number> {
  const { ChatLeft, runChat } = await FRONTENDS.repl();
  // The reason the chat continues in plain lines, and its session.
  let lines: { readonly why: LineOptions["why"]; readonly resume?: string } | undefined;
  const configured = ({ config: { ui } }: LoadedConfig) => {
    if (!ui.linear) return;
    lines = { why: "linear" };
    throw new ChatLeft();
  };
  // What opens a session is loaded with the first question for one, which comes after the first frame.
  const opener = lazy(async () => (await import("./open_chat.ts")).chatOpener(context, flags, configured));
  const { env } = context.process;
  const paths = runPaths(context, flags.dir);
  const code = await runChat({
    locale: languageOf(context).locale,
    colors: displayOf(context, flags.noColor).outColor,
    links: wantsLinks(env),
    still: isOn(env.REASONIX_REDUCED_MOTION),
    paths,
    web: async (options) => (await import("./hand_over.ts")).handOver(options, paths),
    start: startOf(flags),
    ...(flags.tui || flags.repl ? { view: flags.tui ? "full" : "scroll" } : {}),
    open: async (request, person) => await (await opener())(request, person),
    setUp: async (person) => await (await import("./open_chat.ts")).setUpAt(context, person),
    late: (text) => context.process.stderr.write(`! ${text}\n`),
    // Which session is a question for the person.
    gaveUp: (resume) => lines = { why: "broken", ...(resume === undefined ? {} : { resume }) },
    first: [...(flags.resume === "" ? ["/resume"] : []), ...(first === "" ? [] : [first])],
  });
  if (!lines) return code;
  const { why, resume } = lines as NonNullable<typeof lines>;
  return resume === undefined
    ? await inLines(context, flags, { first, why })
    : await inLines(context, { ...flags, resume, continue: false, copy: false, forkSession: false }, {
      first: "",
      why,
    });
}

async function inLines(context: CliContext, flags: ChatFlags, options: LineOptions): Promise<number> {
  return await (await import("./line_chat.ts")).chatInLines(context, flags, options);
}

/** Says why the chat cannot draw: a pipe, a terminal that cannot, or the wish for plain lines. */
function plainLines(
  { process: { env } }: CliContext,
  flags: ChatFlags,
): "pipe" | "dumb" | "linear" | undefined {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return "pipe";
  if (env.TERM === "dumb") return "dumb";
  return flags.linear || isOn(env.REASONIX_LINEAR) ? "linear" : undefined;
}

/** A variable that switches something on: neither empty nor 0. */
function isOn(value = ""): boolean {
  return value !== "" && value !== "0";
}

export const chatCommand = command({
  description: 'Open the chat; `reasonix` alone and `reasonix "message"` do the same. Without a\n' +
    "terminal that can show it, each line of standard input is a message.",
  flags: CHAT_FLAGS,
  aliases: { c: "continue", f: "file", m: "model", r: "resume" },
  rest: argument("First message", "message"),
  run: chat,
});
