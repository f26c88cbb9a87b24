import type { Config } from "../../config/mod.ts";
import { type GoalRecord, loadGoals, type Recorder, type ResearchStatus } from "../../control/mod.ts";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import type { GoalClock, GoalRequest, Modes } from "../../run/mod.ts";
import type { ResearchEntryKind } from "../../tool/mod.ts";

const HOME = ".reasonix/autoresearch";

/** The file of each kind of entry, in the order of work. */
const FILES: Readonly<Record<ResearchEntryKind, string>> = {
  hypothesis: "hypotheses.jsonl",
  experiment: "experiments.jsonl",
  result: "results.jsonl",
  decision: "decisions.jsonl",
};

const KINDS = Object.keys(FILES) as ResearchEntryKind[];
const MAX_ENTRY = 8000;
const MAX_SLUG = 40;

/** One entry, a line of its file. */
interface ResearchEntry {
  readonly n: number;
  readonly time: string;
  readonly turn: number;
  readonly text: string;
}

export interface ResearchRecordDeps {
  readonly cwd: string;
  /** Relative to it, as the goal's record has it. */
  readonly directory: string;
  readonly redact: (text: string) => string;
}

/**
 * The record of a research goal: files that only grow, written by the program alone. The model cannot write
 * below `.reasonix`, so what it once noted stays as it was.
 */
export class ResearchRecord {
  readonly #parts: ResearchRecordDeps;

  constructor(parts: ResearchRecordDeps) {
    this.#parts = parts;
  }

  /** Begins a record for an objective; the name of its directory is free then. Throws a ReasonixError. */
  static async begin(
    cwd: string,
    { objective, checks = [] }: Pick<GoalRecord, "objective" | "checks">,
    { redact, now }: { readonly redact: (text: string) => string; readonly now: Date },
  ): Promise<ResearchRecord> {
    try {
      await requireRealDirectories(cwd);
      await Deno.mkdir(`${cwd}/${HOME}`, { recursive: true });
      const directory = await makeDirectory(cwd, `${HOME}/${timeName(now)}-${slugOf(objective)}`);
      const record = new ResearchRecord({ cwd, directory, redact });
      const checked = checks.length === 0 ? [] : ["", "Checks:", ...checks.map((check) => `- \`${check}\``)];
      const text = redact([`# Goal`, "", objective, ...checked, ""].join("\n"));
      await Deno.writeTextFile(`${cwd}/${directory}/goal.md`, text, { createNew: true });
      return record;
    } catch (error) {
      throw cannot("begin a research record", error);
    }
  }

  /** Relative to the working directory. */
  get directory(): string {
    return this.#parts.directory;
  }

  /** Adds an entry; throws a ReasonixError when it cannot be kept. */
  async add(kind: ResearchEntryKind, text: string, turn: number): Promise<void> {
    if (text.length > MAX_ENTRY) {
      throw new ReasonixError(
        `Cannot keep an entry of ${text.length} characters; write at most ${MAX_ENTRY}, and details to a file`,
      );
    }
    try {
      await requireRealDirectories(this.#parts.cwd, this.directory);
      const n = (await this.#entries(kind)).length + 1;
      const entry: ResearchEntry = {
        n,
        time: new Date().toISOString(),
        turn,
        text: this.#parts.redact(text),
      };
      const path = await this.#regular(FILES[kind]);
      await Deno.writeTextFile(path, `${JSON.stringify(entry)}\n`, { append: true });
    } catch (error) {
      throw cannot("add to the research record", error);
    }
  }

  async status(): Promise<ResearchStatus> {
    const counts = await Promise.all(KINDS.map(async (kind) => [kind, (await this.#entries(kind)).length]));
    return { directory: this.directory, entries: Object.fromEntries(counts) };
  }

  /** Writes the report anew and returns its path, relative to the working directory. */
  async report(record: GoalRecord, answer: string): Promise<string> {
    const lines = [`# ${oneLine(record.objective)}`, "", `Outcome: ${outcomeText(record)}.`, ""];
    if (record.note) lines.push(record.note, "");
    if (record.results?.length) {
      lines.push("## Checks", "");
      for (const { command, passed } of record.results) {
        lines.push(`- ${passed ? "passed" : "failed"}: \`${command}\``);
      }
      lines.push("");
    }
    for (const [kind, title] of SECTIONS) {
      const entries = await this.#entries(kind);
      lines.push(`## ${title}`, "");
      lines.push(...(entries.length === 0 ? ["None was recorded."] : entries.map(entryText)), "");
    }
    if (answer.trim() !== "") lines.push("## Last answer", "", answer.trim(), "");
    try {
      await requireRealDirectories(this.#parts.cwd, this.directory);
      const path = await this.#regular("report.md");
      await Deno.writeTextFile(path, this.#parts.redact(lines.join("\n")));
      return `${this.directory}/report.md`;
    } catch (error) {
      throw cannot("write the research report", error);
    }
  }

  /** Lines that are damaged are left out: the record is only read for counts and the report. */
  async #entries(kind: ResearchEntryKind): Promise<ResearchEntry[]> {
    const { cwd } = this.#parts;
    const text = await Deno.readTextFile(`${cwd}/${this.directory}/${FILES[kind]}`).catch(() => "");
    return text.split("\n").flatMap((line) => {
      try {
        const entry = JSON.parse(line) as ResearchEntry;
        return typeof entry.text === "string" ? [entry] : [];
      } catch {
        return [];
      }
    });
  }

  /** The path of a file that is there as a file, or not at all: nothing is written through a link. */
  async #regular(name: string): Promise<string> {
    const path = `${this.#parts.cwd}/${this.directory}/${name}`;
    const info = await Deno.lstat(path).catch(() => undefined);
    if (info && !info.isFile) throw new ReasonixError(`${this.directory}/${name} is no regular file`);
    return path;
  }
}

const SECTIONS = [
  ["decision", "Decisions"],
  ["result", "Results"],
  ["experiment", "Experiments"],
  ["hypothesis", "Hypotheses"],
] as const;

function entryText({ n, turn, text }: ResearchEntry): string {
  return `${n}. (turn ${turn}) ${text.replaceAll("\n", "\n   ")}`;
}

function outcomeText({ state, turns, limit }: GoalRecord): string {
  const after = `after ${turns} ${turns === 1 ? "turn" : "turns"}`;
  return `${state}${limit ? ` (${limit})` : ""} ${after}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 200).toWellFormed();
}

/** A directory on the way that is a link would have the program write somewhere else. */
async function requireRealDirectories(cwd: string, directory = HOME): Promise<void> {
  const names = directory.split("/");
  for (let i = 1; i <= names.length; i++) {
    const path = names.slice(0, i).join("/");
    const info = await Deno.lstat(`${cwd}/${path}`).catch(() => undefined);
    if (info && !info.isDirectory) {
      throw new ReasonixError(`${path} is no directory of its own`, { remedy: "remove the link or file" });
    }
  }
}

/** Of two records that begin in the same second one has a number. */
async function makeDirectory(cwd: string, wanted: string): Promise<string> {
  for (let number = 1;; number++) {
    const directory = number === 1 ? wanted : `${wanted}-${number}`;
    try {
      await Deno.mkdir(`${cwd}/${directory}`);
      return directory;
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

function timeName(time: Date): string {
  const [date = "", clock = ""] = time.toISOString().split(/[T.]/);
  return `${date.replaceAll("-", "")}-${clock.replaceAll(":", "")}`;
}

/** Letters and digits of any script, the rest as hyphens. */
function slugOf(objective: string): string {
  const words = objective.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}\p{M}]+/gu, "-");
  const slug = [...words.replace(/^-/, "")].slice(0, MAX_SLUG).join("").replace(/-+$/, "");
  return slug === "" ? "goal" : slug;
}

function cannot(what: string, error: unknown): ReasonixError {
  const remedy = error instanceof ReasonixError ? error.remedy : undefined;
  return new ReasonixError(`Cannot ${what}: ${errorMessage(error)}`, remedy === undefined ? {} : { remedy });
}

interface GoalResearchDeps {
  readonly recorder: Recorder;
  readonly modes: Pick<Modes, "permission">;
  readonly redact: (text: string) => string;
  readonly paths: { readonly cwd: string };
  readonly loaded: { readonly config: Config };
  readonly clock: GoalClock;
}

/** The research record of a goal, where it has one. */
export class GoalResearch {
  readonly #parts: GoalResearchDeps;

  constructor(parts: GoalResearchDeps) {
    this.#parts = parts;
  }

  /** Begins a record where the request or the objective wants one; returns its directory. */
  async begin(
    { strategy = "auto" }: GoalRequest,
    goal: { readonly objective: string; readonly checks: readonly string[] },
  ): Promise<string | undefined> {
    const { loaded: { config }, modes, paths: { cwd }, redact, clock } = this.#parts;
    const { looksLikeResearch } = await loadGoals();
    const canWrite = modes.permission !== "read-only" && config.tools.writes === "allow";
    if (strategy === "research" && !canWrite) {
      throw new ReasonixError("Cannot keep a research record: this session changes no files", {
        exit: "usage",
        remedy: "leave out --research, or let it write",
      });
    }
    const isWanted = strategy === "research" ||
      (strategy === "auto" && config.goal.autoresearch && canWrite && looksLikeResearch(goal.objective));
    if (!isWanted) return undefined;
    const { objective, checks } = goal;
    const now = new Date(clock.date());
    return (await ResearchRecord.begin(cwd, { objective, checks: [...checks] }, { redact, now })).directory;
  }

  /** Adds an entry. Throws a ReasonixError where the goal has no record, or it cannot be kept. */
  async add({ research, turns }: GoalRecord, kind: ResearchEntryKind, note: string): Promise<true> {
    const record = this.#recordIn(research);
    if (!record) {
      throw new ReasonixError("Cannot keep an entry: this goal has no research record; leave `entry` out");
    }
    await record.add(kind, note, turns + 1);
    return true;
  }

  async status({ research }: GoalRecord): Promise<ResearchStatus | undefined> {
    return await this.#recordIn(research)?.status();
  }

  /** Writes the report and returns its path; what cannot be written is told. */
  async report(goal: GoalRecord, answer: string): Promise<string | undefined> {
    try {
      return await this.#recordIn(goal.research)?.report(goal, answer);
    } catch (error) {
      const text = errorMessage(error);
      await this.#parts.recorder.record({ type: "notice", level: "warning", code: "goal", text });
      return undefined;
    }
  }

  #recordIn(directory: string | undefined): ResearchRecord | undefined {
    const { paths: { cwd }, redact } = this.#parts;
    return directory === undefined ? undefined : new ResearchRecord({ cwd, directory, redact });
  }
}
