import type { SessionConfigOption, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Assembly } from "../../run/mod.ts";
import { allCommands } from "../../command/mod.ts";
import { type Event, totalCost } from "../../core/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import { titleOf } from "../../session/mod.ts";
import { type SessionSetting, sessionSettings } from "../session/settings.ts";
import { userText } from "../../util/user_text.ts";
import { modeUpdate } from "./modes.ts";

const CATEGORIES = { mode: "mode", model: "model", effort: "thought_level" } as const;

/** The options of a session, the most important first. */
export function configOptions(settings: readonly SessionSetting[]): SessionConfigOption[] {
  return settings.map(({ id, name, current, choices }) => {
    const groups = [...new Set(choices.map(({ group = "" }) => group))];
    const options = choices.map(({ group: _group, ...choice }) => choice);
    return {
      type: "select",
      id,
      name,
      category: CATEGORIES[id],
      currentValue: current,
      options: groups[0] === "" ? options : groups.map((group) => ({
        group,
        name: group,
        options: options.filter((_, index) => choices[index]?.group === group),
      })),
    };
  });
}

function settingUpdates(settings: readonly SessionSetting[]): SessionUpdate[] {
  const options = { sessionUpdate: "config_option_update", configOptions: configOptions(settings) } as const;
  return [modeUpdate(settings), options];
}

/** The commands that make sense in an editor, with what can follow each. */
async function commandUpdate(assembly: Assembly, locale: Locale): Promise<SessionUpdate> {
  const session = () => Promise.resolve(assembly);
  const commands = await allCommands({ locale, session, oneSession: true });
  return {
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, brief, argumentHint: hint }) => ({
      name,
      description: brief,
      ...(hint === undefined ? {} : { input: { hint } }),
    })),
  };
}

/** The context that is used, and the cost; undefined where the window is not known. */
function usageUpdate(
  { facts: { context, spending }, provider, window }: Assembly,
  used = context?.tokens,
): SessionUpdate | undefined {
  if (!window || used === undefined) return undefined;
  const cost = totalCost(spending, provider.model.price?.currency);
  // Sums of prices have a rest far behind the point.
  const rounded = cost && { ...cost, amount: Math.round(cost.amount * 1e9) / 1e9 };
  return { sessionUpdate: "usage_update", used, size: window, ...(rounded ? { cost: rounded } : {}) };
}

/** Undefined before the first turn of a session without a title. */
function infoUpdate({ controller: { recorder: { state } } }: Assembly): SessionUpdate | undefined {
  const title = state.title ?? titleOf(userText(state.turns[0]?.prompt ?? ""));
  if (title === "") return undefined;
  return {
    sessionUpdate: "session_info_update",
    title,
    ...(state.updated === undefined ? {} : { updatedAt: state.updated }),
  };
}

interface UpdateOptions {
  readonly locale: () => Locale;
  readonly send: (update: SessionUpdate) => void;
}

/** Sends what changes of a session in addition to its conversation, if it differs from the last time. */
export class SettingUpdates {
  readonly #options: UpdateOptions;
  readonly #sent = new Map<string, string>();
  #assembly: Assembly | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  /** Sends everything: another assembly of the session may have another model and other commands. */
  async opened(assembly: Assembly): Promise<void> {
    if (assembly !== this.#assembly) {
      assembly.servers?.watch(({ state }) => {
        if (state === "ready") void this.#commands(assembly);
      });
      assembly.modes.watch(() => void this.#settings(assembly));
    }
    this.#assembly = assembly;
    this.#figures(assembly);
    await Promise.all([this.#settings(assembly), this.#commands(assembly)]);
  }

  /** The settings for an answer, after which they are sent only when they change. */
  async answer(assembly: Assembly): Promise<readonly SessionSetting[]> {
    const settings = await sessionSettings(assembly, this.#options.locale());
    for (const update of settingUpdates(settings)) this.#isNew(update);
    return settings;
  }

  close(): void {
    this.#assembly = undefined;
  }

  event(event: Event): void {
    const assembly = this.#assembly;
    if (!assembly) return;
    switch (event.type) {
      case "message.user":
        return event.origin === "user" ? this.#send(infoUpdate(assembly)) : undefined;
      case "message.end":
        return this.#send(usageUpdate(assembly));
      case "compaction":
        return this.#send(usageUpdate(assembly, event.tokensAfter));
      case "turn.end":
        // It may have written a command file.
        void this.#commands(assembly);
        return this.#figures(assembly);
      case "session.rename":
      case "rewind":
        return this.#figures(assembly);
    }
  }

  #figures(assembly: Assembly): void {
    this.#send(infoUpdate(assembly));
    this.#send(usageUpdate(assembly));
  }

  #settings(assembly: Assembly): Promise<void> {
    return this.#inOrder(assembly, async () => {
      const settings = await sessionSettings(assembly, this.#options.locale());
      for (const update of settingUpdates(settings)) this.#send(update);
    });
  }

  #commands(assembly: Assembly): Promise<void> {
    const { locale } = this.#options;
    return this.#inOrder(assembly, async () => this.#send(await commandUpdate(assembly, locale())));
  }

  /** Newer facts are sent later. Facts that cannot be read are not sent: the next turn reports why. */
  #inOrder(assembly: Assembly, work: () => Promise<void>): Promise<void> {
    const current = async () => assembly === this.#assembly ? await work() : undefined;
    return this.#working = this.#working.then(current).catch(() => {});
  }

  #send(update: SessionUpdate | undefined): void {
    if (update && this.#assembly && this.#isNew(update)) this.#options.send(update);
  }

  #isNew(update: SessionUpdate): boolean {
    const [before, text] = [this.#sent.get(update.sessionUpdate), JSON.stringify(update)];
    this.#sent.set(update.sessionUpdate, text);
    return before !== text;
  }
}
