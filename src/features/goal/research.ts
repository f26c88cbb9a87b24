import type { Config } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import type { GoalRecord } from "../../run/mod.ts";
import type { ResearchStatus } from "./goal_record.ts";
import { errorMessage, message, newNotice, ReasonixError, usageError } from "../../core/mod.ts";
import type { GoalClock, GoalRequest, Modes } from "../../run/mod.ts";
import type { ResearchEntryKind } from "../../tool/mod.ts";
import { parseJson } from "../../util/json.ts";

/** Work that is done by trying, measuring and trying again. */
const SIGNALS = [
  /\bresearch\b|\binvestigat\w*|\broot[- ]cause\b|\bbenchmark\w*|\bprofil(?:e|ing)\b|\bablation\b/i,
  /\boptimi[sz]\w+|\bspeed(?:ing)?[- ]up\b|\b(?:reduce|cut|halve|lower)\b.{0,60}\b(?:latency|time|memory|size|cost|loss)\b/i,
  /\bflaky\b|\bintermittent\w*|\bheisenbug\b|\bmemory leak\b|\brace condition\b|\breproduc\w+/i,
  /\bhypothes[ei]s\b|假设/i,
  /\bexperiments?\b|\btune\b|\btuning\b|\bhyper-?parameters?\b|实验|调参/i,
  /研究|调研/,
  /排查|根因|复现|偶发|内存泄漏/,
  /性能|优化|基准测试|提速|降低.{0,12}(?:延迟|耗时|内存|成本)/,
];

/** Reports whether an objective looks like long research, debugging or optimization. */
export function looksLikeResearch(objective: string): boolean {
  const kinds = SIGNALS.filter((pattern) => pattern.test(objective)).length;
  return kinds >= 2 || (kinds === 1 && objective.length >= 200) || demandsResearch(objective);
}

/** Reports whether a prompt requests the protocol by its name, and does not just mention it. */
function namesProtocol(text: string): boolean {
  const word = "(?:auto-?research|自动研究)";
  const asked = new RegExp(
    `\\b(?:use|using|start|run|begin|in|with|via|do|launch)\\s+(?:an?\\s+|the\\s+)?${word}\\b` +
      `|(?:用|使用|启动|开始|进入|采用|以)\\s*${word}`,
    "i",
  );
  const isQuestion =
    /^\s*(?:what|how|why|when|where|does|do|is|are|can|could|explain|describe|fix|document|test)\b/i
      .test(text) || /什么|怎么|如何|为什么|解释|说明|修复|文档|[?？]\s*$/.test(text);
  const isRefused = /\b(?:don'?t|do not|never|without|no need|instead of|not)\b.{0,20}research/i.test(text) ||
    /(?:不要|别|不用|无需|不必)[^。，,]{0,8}研究/.test(text);
  return asked.test(text) && !isQuestion && !isRefused;
}

/** It shall continue automatically. */
const AUTONOMY =
  /\b(?:do not|don'?t|never) (?:stop|give up|come back)\b.{0,30}\buntil\b|\bkeep (?:going|working|trying|experimenting|iterating)\b.{0,60}\buntil\b|\b(?:autonomously|unattended|overnight|on your own)\b|一直.{0,20}直到|(?:不要|别)停.{0,20}(?:直到|为止)|直到.{0,40}为止|自主|无人值守|整晚|通宵/i;
/** By the steps of research. */
const METHOD = /\bhypothes[ei]s\b|假设/i;
const TRIALS = /\bexperiments?\b|\bmeasure\w*\b|\bablations?\b|实验|测量|对照/i;
/** With a record that stays. */
const RECORD =
  /\b(?:keep|write|maintain)\b.{0,30}\b(?:log|record|journal|notes|report)\b|\b(?:log|record|document) (?:every|each|all)\b|\bfinal report\b|记录(?:每|所有|下)|研究(?:报告|记录|日志)|(?:写|撰写|给出|输出).{0,8}报告/i;

/**
 * Reports whether an ordinary prompt asks for autonomous research: all four of continuing automatically,
 * hypotheses, experiments and a record, or the protocol by its name. Single words such as "optimize",
 * "research", "long term" or "verify" never suffice.
 */
export function demandsResearch(prompt: string): boolean {
  if (/^\s*[/!#]/.test(prompt)) return false;
  // Text in quotation marks or code is only mentioned.
  const text = prompt.replace(/```[^]*?```|`[^`]*`|"[^"\n]*"|“[^”]*”|「[^」]*」/g, " ");
  if (namesProtocol(text)) return true;
  const isAsked = !/[?？]\s*$/.test(text.trim());
  return isAsked && [AUTONOMY, METHOD, TRIALS, RECORD].every((pattern) => pattern.test(text));
}

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

interface ResearchEntry {
  readonly n: number;
  readonly time: string;
  readonly turn: number;
  readonly text: string;
}

interface GoalResearchDeps {
  readonly recorder: Recorder;
  readonly modes: Pick<Modes, "permission">;
  readonly redact: (text: string) => string;
  readonly paths: { readonly cwd: string };
  readonly loaded: { readonly config: Config };
  readonly clock: GoalClock;
}

/**
 * The research record of a goal, where it has one: files that only grow, written by the program alone. The
 * model cannot write below `.reasonix`, so what it once noted stays as it was.
 */
export class GoalResearch {
  readonly #deps: GoalResearchDeps;
  readonly #cwd: string;

  constructor(deps: GoalResearchDeps) {
    this.#deps = deps;
    this.#cwd = deps.paths.cwd;
  }

  /**
   * Begins a record where the request or the objective wants one; returns its directory, relative to the
   * working directory. Throws a ReasonixError.
   */
  async begin(
    { strategy = "auto" }: GoalRequest,
    { objective, checks }: { readonly objective: string; readonly checks: readonly string[] },
  ): Promise<string | undefined> {
    const { loaded: { config }, modes, redact, clock } = this.#deps;
    const canWrite = modes.permission !== "read-only" && config.tools.writes === "allow";
    if (strategy === "research" && !canWrite) {
      throw usageError(
        message`Cannot keep a research record: this session changes no files`,
        message`leave out --research, or let it write`,
      );
    }
    const isWanted = strategy === "research" ||
      (strategy === "auto" && config.goal.autoresearch && canWrite && looksLikeResearch(objective));
    if (!isWanted) return undefined;
    return await attempt("begin a research record", async () => {
      await requireRealDirectories(this.#cwd);
      await Deno.mkdir(`${this.#cwd}/${HOME}`, { recursive: true });
      const name = `${timeName(new Date(clock.date()))}-${slugOf(objective)}`;
      const directory = await makeDirectory(this.#cwd, `${HOME}/${name}`);
      const checked = checks.length === 0 ? [] : ["", "Checks:", ...checks.map((check) => `- \`${check}\``)];
      const text = redact([`# Goal`, "", objective, ...checked, ""].join("\n"));
      await Deno.writeTextFile(`${this.#cwd}/${directory}/goal.md`, text, { createNew: true });
      return directory;
    });
  }

  /** Adds an entry. Throws a ReasonixError where the goal has no record, or it cannot be written. */
  async add({ research, turns }: GoalRecord, kind: ResearchEntryKind, note: string): Promise<void> {
    if (research === undefined) {
      throw new ReasonixError(
        message`Cannot keep an entry: this goal has no research record; leave \`entry\` out`,
      );
    }
    if (note.length > MAX_ENTRY) {
      throw new ReasonixError(
        message`Cannot keep an entry of ${note.length} characters; write at most ${MAX_ENTRY}, and details to a file`,
      );
    }
    await attempt("add to the research record", async () => {
      await requireRealDirectories(this.#cwd, research);
      const n = (await this.#entries(research, kind)).length + 1;
      const text = this.#deps.redact(note);
      const entry: ResearchEntry = { n, time: new Date().toISOString(), turn: turns + 1, text };
      const path = await this.#regular(`${research}/${FILES[kind]}`);
      await Deno.writeTextFile(path, `${JSON.stringify(entry)}\n`, { append: true });
    });
  }

  async status({ research }: GoalRecord): Promise<ResearchStatus | undefined> {
    if (research === undefined) return undefined;
    const counts = await Promise.all(
      KINDS.map(async (kind) => [kind, (await this.#entries(research, kind)).length]),
    );
    return { directory: research, entries: Object.fromEntries(counts) };
  }

  /** Writes the report and returns its path, relative to the working directory; a failure is a notice. */
  async report(goal: GoalRecord, answer: string): Promise<string | undefined> {
    const { research } = goal;
    if (research === undefined) return undefined;
    try {
      const text = await this.#reportText(research, goal, answer);
      return await attempt("write the research report", async () => {
        await requireRealDirectories(this.#cwd, research);
        await Deno.writeTextFile(await this.#regular(`${research}/report.md`), this.#deps.redact(text));
        return `${research}/report.md`;
      });
    } catch (error) {
      const text = errorMessage(error);
      await this.#deps.recorder.record(newNotice("warning", "goal", text));
      return undefined;
    }
  }

  async #reportText(directory: string, goal: GoalRecord, answer: string): Promise<string> {
    const lines = [`# ${oneLine(goal.objective)}`, "", `Outcome: ${outcomeText(goal)}.`, ""];
    if (goal.note) lines.push(goal.note, "");
    if (goal.results?.length) {
      const results = goal.results.map(({ command, passed }) =>
        `- ${passed ? "passed" : "failed"}: \`${command}\``
      );
      lines.push("## Checks", "", ...results, "");
    }
    for (const [kind, title] of SECTIONS) {
      const entries = await this.#entries(directory, kind);
      lines.push(`## ${title}`, "");
      lines.push(...(entries.length === 0 ? ["None was recorded."] : entries.map(entryText)), "");
    }
    if (answer.trim() !== "") lines.push("## Last answer", "", answer.trim(), "");
    return lines.join("\n");
  }

  /** Lines that are damaged are left out: the record is only read for counts and the report. */
  async #entries(directory: string, kind: ResearchEntryKind): Promise<ResearchEntry[]> {
    const text = await Deno.readTextFile(`${this.#cwd}/${directory}/${FILES[kind]}`).catch(() => "");
    return text.split("\n").map((line) => parseJson(line) as ResearchEntry | undefined)
      .filter((entry): entry is ResearchEntry => typeof entry?.text === "string");
  }

  /** Returns the path of a regular file, or of none: nothing is written through a link. */
  async #regular(file: string): Promise<string> {
    const path = `${this.#cwd}/${file}`;
    const info = await Deno.lstat(path).catch(() => undefined);
    if (info && !info.isFile) throw new ReasonixError(message`${file} is no regular file`);
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
      throw new ReasonixError(message`${path} is not a real directory`, {
        remedy: message`remove the link or file`,
      });
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

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const remedy = error instanceof ReasonixError ? error.remedy : undefined;
    throw new ReasonixError(
      message`Cannot ${what}: ${errorMessage(error)}`,
      remedy === undefined ? {} : { remedy },
    );
  }
}
