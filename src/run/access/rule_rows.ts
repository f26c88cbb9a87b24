import { type LoadedConfig, placeOf, sourceOf } from "../../config/mod.ts";
import { formatLocation } from "../../core/mod.ts";
import type { RuleList } from "../../rule/mod.ts";
import { terminalSafe } from "../../util/terminal_text.ts";

export interface RuleRow {
  /** The list of the rule; directories and hosts of a project need trust as well. */
  readonly list: RuleList | "write" | "host";
  readonly rule: string;
  /** `file:line:column`; the kind of source where no file says it. */
  readonly origin: string;
  readonly file?: string;
  /** Of what a project would allow: whether the user trusts it. What it refuses is always in force. */
  readonly state: "in force" | "trusted" | "waiting";
}

const LISTS: Readonly<Record<string, RuleRow["list"]>> = {
  "permissions.allow": "allow",
  "sandbox.allow_write": "write",
  "sandbox.network_hosts": "host",
};

/**
 * The rules in force in the order in which they are asked, the directories and hosts that are open, then what
 * waits for a decision about trust.
 */
export function ruleRows(loaded: LoadedConfig): RuleRow[] {
  const { permissions: { deny, ask, allow }, sandbox } = loaded.config;
  const rows = [
    ...rowsOf(loaded, { list: "deny", key: "permissions.deny", values: deny }),
    ...rowsOf(loaded, { list: "ask", key: "permissions.ask", values: ask }),
    ...rowsOf(loaded, { list: "allow", key: "permissions.allow", values: allow }),
    ...rowsOf(loaded, { list: "write", key: "sandbox.allow_write", values: sandbox.allow_write }),
    ...rowsOf(loaded, { list: "host", key: "sandbox.network_hosts", values: sandbox.network_hosts }),
  ];
  const waiting = loaded.needsTrust.flatMap(({ grants = [] }) => grants).map((
    { key, value, place },
  ): RuleRow => ({
    list: LISTS[key] ?? "allow",
    rule: value,
    origin: formatLocation(place),
    state: "waiting",
  }));
  return [...rows, ...waiting];
}

interface RuleValues {
  readonly list: RuleRow["list"];
  readonly key: string;
  readonly values: readonly string[];
}

function rowsOf(loaded: LoadedConfig, { list, key, values }: RuleValues): RuleRow[] {
  return values.map((rule, index) => {
    const found = sourceOf(loaded, `${key}[${index}]`);
    const place = placeOf(found);
    return {
      list,
      rule,
      ...(place ? { origin: formatLocation(place), file: place.file } : { origin: found.source }),
      state: found.source === "project" && list !== "deny" && list !== "ask" ? "trusted" : "in force",
    };
  });
}

const STATES = {
  "in force": "",
  trusted: "  trusted",
  waiting: "  not in force until `reasonix trust`",
} as const;

/** One line for people, fit for a terminal. */
export function ruleLine({ list, rule, origin, state }: RuleRow): string {
  return terminalSafe(`${list.padEnd(5)} ${rule}  ${origin}${STATES[state]}`);
}
