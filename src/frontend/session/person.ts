import type { AssemblyOptions } from "../../run/mod.ts";
import type { CommandHost } from "../../command/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import { NO_RULE } from "../../rule/mod.ts";
import type { SessionBusyError } from "../../session/mod.ts";
import { defined } from "../../util/json.ts";
import type { Questions } from "./questions.ts";

/** Asks and informs the user of a session. */
export interface Person extends Pick<AssemblyOptions, "approver" | "asker" | "planReviewer"> {
  /** Asks whether repository content may be used; `lines` summarize `details`. */
  readonly trust?: (lines: readonly string[], details: string) => Promise<"trust" | "ignore">;
  /** Asks whether to continue in a copy of a session that another process has open. */
  readonly copy?: (
    busy: Pick<SessionBusyError, "session" | "pid"> & { readonly here?: boolean },
  ) => Promise<boolean>;
  /** Lends the terminal to a program that asks the user itself. */
  readonly lend?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Asks the questions of the setup wizard where no terminal can be lent. */
  readonly questions?: Pick<CommandHost, "choose" | "prompt">;
  say(text: string): void;
  /** Switches to the configured language. */
  speak(locale: Locale): Promise<void>;
}

interface PersonOptions extends Pick<Person, "lend" | "questions" | "say" | "speak"> {
  /** Stops the turn: the user left an approval without an answer. */
  readonly stop: () => void;
}

/** The user at the front ends that show these questions. */
export function personOf(
  questions: Questions,
  { stop, ...rest }: PersonOptions,
): Required<Omit<Person, "lend" | "questions">> & Pick<Person, "lend" | "questions"> {
  return {
    ...rest,
    approver: {
      async ask({ checkRule, reason, ...request }, signal) {
        const answer = await questions.ask(
          "approval",
          {
            ...request,
            reason: reason === NO_RULE ? "" : reason,
            ...(checkRule ? { checksRule: true } : {}),
          },
          { signal, calls: defined({ checkRule }) },
        );
        if (answer) return answer;
        stop();
        signal.throwIfAborted();
        return { allow: false, scope: "once" };
      },
    },
    asker: { ask: (asked, signal) => questions.ask("ask", { questions: asked }, { signal }) },
    planReviewer: { review: (proposal, signal) => questions.ask("plan", proposal, { signal }) },
    trust: async (lines, details) => await questions.ask("trust", { lines, details }) ?? "ignore",
    copy: async ({ session, pid }) => await questions.ask("copy", { session, ...defined({ pid }) }) ?? false,
  };
}

/** The questions of slash commands: the user has asked for them. */
export function questionsOfCommands(
  questions: Questions,
): Required<Pick<CommandHost, "choose" | "confirm" | "prompt" | "show" | "lookAt">> {
  const called = true;
  return {
    async choose(title, choices, { onMove, ...options } = {}) {
      const entries = choices.map(({ label, detail, key, preview }) => ({
        label,
        ...defined({ detail, key, preview: preview && (true as const) }),
      }));
      const index = await questions.ask(
        "choose",
        { title, entries, ...options, ...(onMove ? { moves: true } : {}) },
        {
          called,
          calls: {
            preview: (at) => choices[at]?.preview?.() ?? "",
            move(at) {
              const choice = choices[at];
              if (choice) onMove?.(choice.value);
            },
          },
        },
      );
      return index === undefined ? undefined : choices[index]?.value;
    },
    confirm: async (title, options) =>
      await questions.ask("confirm", { title, ...options }, { called }) ?? false,
    prompt: (title, initial = "", options = {}) =>
      questions.ask("prompt", { title, initial, ...options }, { called }),
    show: async (title, text) => void await questions.ask("show", { title, text }, { called }),
    lookAt: async (title, files) => void await questions.ask("changes", { title, files }, { called }),
  };
}
