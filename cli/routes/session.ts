import { buildCommand, buildRouteMap } from "@stricli/core";
import { ReasonixError } from "../../src/core/mod.ts";
import { argument, flag, NONE, option, wholeNumber } from "./parameters.ts";
import { statsCommand } from "./reports.ts";

const SESSION = argument("Id, part of an id, title, or file", "session");
const ONE = { positional: { kind: "tuple", parameters: [SESSION] } } as const;
const LATEST = {
  positional: { kind: "tuple", parameters: [{ ...SESSION, optional: true }] },
} as const;

const number = (name: string, least: number, brief: string, placeholder = "n") =>
  ({ kind: "parsed", parse: wholeNumber(name, least), optional: true, brief, placeholder }) as const;

const required = (name: string, least: number, brief: string, placeholder = "n") =>
  ({ kind: "parsed", parse: wholeNumber(name, least), brief, placeholder }) as const;

const DAYS = { h: 1 / 24, d: 1, w: 7 } as const;

/** An age in days, or with a unit. */
function ageInDays(value: string): number {
  const [, number, unit = "d"] = /^(\d+)([hdw])?$/.exec(value) ?? [];
  if (number !== undefined) return Number(number) * DAYS[unit as keyof typeof DAYS];
  throw new ReasonixError(
    `Cannot use "${value}" for --older-than: give days, or a number with h, d or w such as 30d`,
    { exit: "usage" },
  );
}

const limit = (most: string) => ({ ...required("--limit", 1, "Show at most N"), default: most }) as const;

const list = buildCommand({
  loader: async () => (await import("../commands/session/session.ts")).list,
  parameters: {
    flags: { all: flag("List those of every directory"), json: flag("Print JSON"), limit: limit("20") },
    ...NONE,
  },
  docs: { brief: "List this directory's sessions, newest first" },
});

const show = buildCommand({
  loader: async () => (await import("../commands/session/show.ts")).show,
  parameters: { flags: { json: flag("Print the events") }, ...LATEST },
  docs: { brief: "Print a session; without a name the latest" },
});

const search = buildCommand({
  loader: async () => (await import("../commands/session/session.ts")).search,
  parameters: {
    flags: {
      all: flag("Search the sessions of every directory"),
      json: flag("Print JSON"),
      limit: limit("10"),
    },
    positional: { kind: "array", parameter: argument("Words to find", "word"), minimum: 1 },
  },
  docs: { brief: "Find messages in this directory's sessions" },
});

const rename = buildCommand({
  loader: async () => (await import("../commands/session/session.ts")).rename,
  parameters: {
    positional: {
      kind: "array",
      parameter: argument("The session, then its new title", "session title"),
      minimum: 2,
    },
  },
  docs: { brief: "Give a session a title" },
});

const exportRoute = buildCommand({
  loader: async () => (await import("../commands/session/files.ts")).exportTo,
  parameters: {
    flags: {
      format: {
        kind: "enum",
        values: ["markdown", "html", "json"],
        optional: true,
        brief: "Set the form; default: by the ending of the file",
      },
      output: option("Write here instead of standard output", "file"),
      force: flag("Overwrite the file"),
    },
    ...LATEST,
  },
  docs: { brief: "Write a session for others to read" },
});

const fork = buildCommand({
  loader: async () => (await import("../commands/session/files.ts")).fork,
  parameters: { flags: { turn: number("--turn", 1, "Copy up to the end of this turn") }, ...LATEST },
  docs: { brief: "Copy a session, or its beginning" },
});

const remove = buildCommand({
  loader: async () => (await import("../commands/session/files.ts")).remove,
  parameters: { flags: { yes: flag("Do not ask") }, ...ONE },
  docs: { brief: "Delete a session for good" },
});

const prune = buildCommand({
  loader: async () => (await import("../commands/session/files.ts")).prune,
  parameters: {
    flags: {
      olderThan: {
        kind: "parsed",
        parse: ageInDays,
        optional: true,
        brief: "Delete those not changed for this time: 12h, 30d, 6w",
        placeholder: "age",
      },
      keep: number("--keep", 0, "Keep the latest N"),
      all: flag("Delete those of every directory"),
      dryRun: flag("Only list what would be deleted"),
      yes: flag("Do not ask"),
    },
    ...NONE,
  },
  docs: { brief: "Delete old sessions for good" },
});

const rewind = buildCommand({
  loader: async () => (await import("../commands/session/rewind.ts")).rewindTo,
  parameters: {
    flags: {
      to: number("--to", 0, "Restore the end of this turn; 0: before the first", "turn"),
      code: flag("Restore files only"),
      conversation: flag("Restore the conversation only"),
      preview: flag("Only show what would change"),
    },
    ...LATEST,
  },
  docs: {
    brief: "Restore files and conversation to an earlier turn",
    fullDescription: "Restore files and conversation to the end of a turn; without --to, to before the\n" +
      "last one. Files that only you changed stay as they are. Nothing is lost:\n" +
      "`session redo` takes it back.",
  },
});

const redo = buildCommand({
  loader: async () => (await import("../commands/session/rewind.ts")).redo,
  parameters: { flags: { preview: flag("Only show what would change") }, ...LATEST },
  docs: { brief: "Take the latest rewind back" },
});

/** `reasonix session`: what can be done with recorded sessions. */
export const sessionRoutes = buildRouteMap({
  routes: {
    list,
    show,
    search,
    rename,
    export: exportRoute,
    fork,
    rewind,
    redo,
    delete: remove,
    prune,
    stats: statsCommand,
  },
  docs: { brief: "List, search, rewind and manage sessions" },
});
