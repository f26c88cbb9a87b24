import { allCommands, type SlashCommand } from "../../command/mod.ts";
import { type Cost, type Event, totalCost } from "../../core/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import type { ServerStatus } from "../../mcp/mod.ts";
import type { Assembly, SessionFacts } from "../../run/mod.ts";
import { titleOf } from "../../session/mod.ts";
import { defined } from "../../util/json.ts";
import { userText } from "../../util/user_text.ts";
import { type ModeChoices, type SessionSetting, sessionSettings } from "./settings.ts";

/** A fact about a session in addition to its conversation. */
export type SessionFact =
  | { readonly kind: "settings"; readonly settings: readonly SessionSetting[] }
  /** The commands that make sense where one session is shown, with what can follow each. */
  | {
    readonly kind: "commands";
    readonly commands: readonly Pick<SlashCommand, "name" | "brief" | "argumentHint">[];
  }
  /** The tokens of context that are used, of so many, and the cost if it is known. */
  | { readonly kind: "usage"; readonly used: number; readonly size: number; readonly cost?: Cost }
  | { readonly kind: "title"; readonly title: string; readonly updated?: string }
  | { readonly kind: "details" } & SessionDetails;

/** The state of a session and of what belongs to it. */
export interface SessionDetails
  extends Omit<SessionFacts, "session" | "title" | "turns" | "servers" | "skills" | "modes"> {
  readonly servers: readonly Pick<ServerStatus, "name" | "state" | "tools">[];
  /** Saved facts; absent: the session has no memory. */
  readonly memory?: number;
}

interface FactOptions {
  readonly locale: () => Locale;
  readonly modes?: ModeChoices;
  /** Gets a fact that differs from the last one of its kind. */
  readonly changed: (fact: SessionFact, before: SessionFact | undefined) => void;
  /** Reports details. */
  readonly details?: true;
}

/** Follows the facts about a session: reports each one when it is first known, and when it changes. */
export class SessionWatcher {
  readonly #options: FactOptions;
  readonly #known = new Map<SessionFact["kind"], SessionFact>();
  #assembly: Assembly | undefined;
  /** The number of saved facts. */
  #memory: number | undefined;
  #isClosed = false;
  #working: Promise<void> = Promise.resolve();

  constructor(options: FactOptions) {
    this.#options = options;
  }

  /** The facts that are known. */
  get facts(): readonly SessionFact[] {
    return [...this.#known.values()];
  }

  /** Reads every fact: another assembly of the session may have another model and other commands. */
  async opened(assembly: Assembly): Promise<void> {
    if (assembly !== this.#assembly) {
      assembly.servers?.watch(({ state }) => {
        if (state === "ready") void this.#commands(assembly);
        this.#details(assembly);
      });
      assembly.modes.watch(() => void this.#settings(assembly));
      this.#memory = undefined;
    }
    this.#assembly = assembly;
    this.#figures(assembly);
    await Promise.all([this.#settings(assembly), this.#commands(assembly), this.#remembered(assembly)]);
  }

  /** The settings, for an answer: they are reported when they change from these. */
  async settings(assembly: Assembly): Promise<readonly SessionSetting[]> {
    const settings = await sessionSettings(assembly, this.#options.locale(), this.#options.modes);
    this.#known.set("settings", { kind: "settings", settings });
    return settings;
  }

  /** Reports the title ahead of the other facts. */
  title(assembly: Assembly): void {
    this.#report(titleFact(assembly));
  }

  close(): void {
    this.#assembly = undefined;
    this.#isClosed = true;
  }

  event(event: Event): void {
    const assembly = this.#assembly;
    if (!assembly) return;
    switch (event.type) {
      case "message.user":
        return event.origin === "user" ? this.title(assembly) : undefined;
      case "message.end":
        this.#details(assembly);
        return this.#report(usageFact(assembly));
      case "compaction":
        return this.#report(usageFact(assembly, event.tokensAfter));
      case "turn.end":
        // It may have written a command file.
        void this.#commands(assembly);
        void this.#remembered(assembly);
        return this.#figures(assembly);
      case "todo.update":
      case "goal.change":
      case "subagent.end":
      case "lsp.server":
        return this.#details(assembly);
      case "session.rename":
      case "rewind":
        return this.#figures(assembly);
    }
  }

  #figures(assembly: Assembly): void {
    this.title(assembly);
    this.#report(usageFact(assembly));
    this.#details(assembly);
  }

  #details(assembly: Assembly): void {
    if (!this.#options.details || assembly !== this.#assembly) return;
    const {
      directory,
      model,
      goal,
      context,
      spending,
      confined,
      todos,
      instructions,
      problem,
      languageServers,
    } = assembly.facts;
    const servers = (assembly.servers?.status ?? []).map(({ name, state, tools }) => ({
      name,
      state,
      tools,
    }));
    const figures = { goal, context, spending, confined, todos, languageServers };
    const given = { directory, model, instructions, problem, ...figures };
    this.#report({ kind: "details", ...given, servers, ...defined({ memory: this.#memory }) });
  }

  /** Counts the saved facts. */
  async #remembered(assembly: Assembly): Promise<void> {
    const { memory } = assembly.inputs.ports;
    if (!this.#options.details || !memory) return;
    await this.#inOrder(assembly, async () => {
      this.#memory = (await (await memory()).list()).length;
      this.#details(assembly);
    });
  }

  #settings(assembly: Assembly): Promise<void> {
    return this.#inOrder(assembly, async (locale) => {
      this.#report({
        kind: "settings",
        settings: await sessionSettings(assembly, locale, this.#options.modes),
      });
    });
  }

  #commands(assembly: Assembly): Promise<void> {
    return this.#inOrder(assembly, async (locale) => {
      const commands = await allCommands({
        locale,
        session: () => Promise.resolve(assembly),
        oneSession: true,
      });
      this.#report({
        kind: "commands",
        commands: commands.map(({ name, brief, argumentHint }) => ({
          name,
          brief,
          ...defined({ argumentHint }),
        })),
      });
    });
  }

  /** Newer facts are reported later. Facts that cannot be read are not reported: the next turn says why. */
  #inOrder(assembly: Assembly, work: (locale: Locale) => Promise<void>): Promise<void> {
    const current = async () => assembly === this.#assembly ? await work(this.#options.locale()) : undefined;
    return this.#working = this.#working.then(current).catch(() => {});
  }

  #report(fact: SessionFact | undefined): void {
    if (!fact || this.#isClosed) return;
    const before = this.#known.get(fact.kind);
    if (before && written(before) === written(fact)) return;
    this.#known.set(fact.kind, fact);
    this.#options.changed(fact, before);
  }
}

/** Undefined where the window is not known. */
function usageFact(
  { facts: { context, spending }, provider, window }: Assembly,
  used = context?.tokens,
): SessionFact | undefined {
  if (!window || used === undefined) return undefined;
  const cost = totalCost(spending, provider.model.price?.currency);
  // Sums of prices have a rest far behind the point.
  const rounded = cost && { ...cost, amount: Math.round(cost.amount * 1e9) / 1e9 };
  return { kind: "usage", used, size: window, ...defined({ cost: rounded }) };
}

/** The title of a session; empty before its first turn. */
export function sessionTitle({ title, turns }: Assembly["session"]["state"]): string {
  return title ?? titleOf(userText(turns[0]?.prompt ?? ""));
}

function titleFact({ controller: { recorder: { state } } }: Assembly): SessionFact | undefined {
  const title = sessionTitle(state);
  return title === "" ? undefined : { kind: "title", title, ...defined({ updated: state.updated }) };
}

/** A fact for comparison: another time of the last change is no other title. */
function written(fact: SessionFact): string {
  return JSON.stringify({ ...fact, updated: undefined });
}
