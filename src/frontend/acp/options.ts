import type { SessionConfigOption, SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionFact } from "../session/facts.ts";
import type { SessionSetting } from "../session/settings.ts";
import { defined } from "../../util/json.ts";
import { modeUpdate } from "./modes.ts";

const CATEGORIES: Readonly<Partial<Record<SessionSetting["id"], string>>> = { effort: "thought_level" };

/** The options of a session, the most important first. */
export function configOptions(settings: readonly SessionSetting[]): SessionConfigOption[] {
  return settings.map(({ id, name, current, choices }) => {
    const groups = Map.groupBy(choices, ({ group = "" }) => group);
    const options = ([group, its]: readonly [string, typeof choices]) => ({
      group,
      name: group,
      options: its.map(({ group: _group, ...choice }) => choice),
    });
    const [first] = groups;
    return {
      type: "select",
      id,
      name,
      category: CATEGORIES[id] ?? id,
      currentValue: current,
      options: first?.[0] === "" ? options(first).options : [...groups].map(options),
    };
  });
}

/** The updates about a fact that has changed. */
export function factUpdates(fact: SessionFact, before?: SessionFact): SessionUpdate[] {
  switch (fact.kind) {
    case "settings": {
      const { settings } = fact;
      const isSameMode = before?.kind === fact.kind && before.settings[0]?.current === settings[0]?.current;
      const sessionUpdate = "config_option_update" as const;
      const options = { sessionUpdate, configOptions: configOptions(settings) };
      return isSameMode ? [options] : [modeUpdate(settings), options];
    }
    case "commands": {
      const availableCommands = fact.commands.map(({ name, brief: description, argumentHint: hint }) => {
        return { name, description, ...(hint === undefined ? {} : { input: { hint } }) };
      });
      return [{ sessionUpdate: "available_commands_update", availableCommands }];
    }
    case "usage": {
      const { kind: _, ...usage } = fact;
      return [{ sessionUpdate: "usage_update", ...usage }];
    }
    case "title": {
      const { title, updated: updatedAt } = fact;
      return [{ sessionUpdate: "session_info_update", title, ...defined({ updatedAt }) }];
    }
    case "details":
      return [];
  }
}
