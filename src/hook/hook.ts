import { formatLocation, type SourceLocation } from "../core/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import { HOOK_EVENTS, type HookEvent, isHookEvent, isUnknownEvent } from "./events.ts";
import { type Matcher, readMatcher } from "./matcher.ts";

/** A hook as the configuration has it. */
export interface HookSource {
  readonly event: string;
  readonly matcher: string;
  readonly command: string;
  readonly timeout_seconds: number;
  readonly failure: "open" | "closed";
  readonly source: string;
  readonly place?: SourceLocation;
  /** Why it must not run, where its source knows. */
  readonly fault?: Pick<HookProblem, "message" | "remedy">;
}

/** A hook that can run. */
export interface Hook<S extends HookSource = HookSource> {
  readonly event: HookEvent;
  readonly matches: Matcher;
  readonly source: S;
}

/** Something about a hook that keeps it from ever running. */
export interface HookProblem {
  readonly source: HookSource;
  readonly message: string;
  readonly remedy: string;
}

/** Reads the hooks; those that name no event or have no readable matcher are problems. */
export function readHooks<S extends HookSource>(
  sources: readonly S[],
): { readonly hooks: readonly Hook<S>[]; readonly problems: readonly HookProblem[] } {
  const hooks: Hook<S>[] = [];
  const problems: HookProblem[] = [];
  for (const source of sources) {
    const { event, matcher, fault } = source;
    if (fault) {
      problems.push({ source, ...fault });
      continue;
    }
    if (!isHookEvent(event)) {
      problems.push({ source, ...unknownEvent(event) });
      continue;
    }
    const matches = readMatcher(matcher);
    if (typeof matches === "function") hooks.push({ event, matches, source });
    else {
      const message = `The matcher ${JSON.stringify(matcher)} is no regular expression: ${matches.fault}`;
      problems.push({ source, message, remedy: "write names such as Bash or Edit|Write, or correct it" });
    }
  }
  return { hooks, problems };
}

function unknownEvent(event: string): Pick<HookProblem, "message" | "remedy"> {
  if (isUnknownEvent(event)) {
    return {
      message: `The event ${event} never comes here`,
      remedy: "see reasonix docs hooks for those that do",
    };
  }
  const [near] = suggestNames(event, Object.keys(HOOK_EVENTS), 1);
  const remedy = near ? `did you mean ${near}?` : `write one of ${Object.keys(HOOK_EVENTS).join(", ")}`;
  return { message: `There is no event ${JSON.stringify(event)}`, remedy };
}

/** Where a hook stands, and what it runs: `reasonix.toml:3:1: ./check.sh`. */
export function hookTitle({ command, place }: Pick<HookSource, "command" | "place">): string {
  const line = command.replace(/\s+/g, " ").trim();
  const shown = line.length > 80 ? `${line.slice(0, 79)}…` : line;
  return place ? `${formatLocation(place)}: ${shown}` : shown;
}

/** A problem in one line, with its place and what to do. */
export function formatHookProblem({ source, message, remedy }: HookProblem): string {
  const place = source.place ? `${formatLocation(source.place)}: ` : "";
  return `${place}${message}; the hook ${JSON.stringify(source.command)} does not run; ${remedy}`;
}
