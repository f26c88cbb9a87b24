import type { EventBodies } from "../core/event_schema.ts";
import { type Cost, message, type Text } from "../core/mod.ts";
import type { FreeSpace } from "./shell/disk_watch.ts";
import { type JobChange, type Jobs, JobTable } from "./shell/jobs/job_table.ts";
import { GuardProcess, type ProcessGuard } from "./shell/process.ts";
import { checklistLine } from "../view/mod.ts";

export type TodoItem = EventBodies["todo.update"]["items"][number];

export interface TodoStore {
  get(): readonly TodoItem[];
  set(items: readonly TodoItem[]): void;
}

interface ShellMemory {
  /** Directory in which the last command ended; absent: the working directory. */
  cwd?: string;
  /** Ends every process with the session. */
  readonly guard: ProcessGuard;
}

export interface Question {
  readonly question: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  readonly multiple: boolean;
  /** The answer is free text: the field for it comes before the options. */
  readonly written?: boolean;
}

/** Puts questions to the user. Absent in headless runs. */
export interface Asker {
  /** Chosen labels or free text, one list per question; undefined when the user declined. */
  ask(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (readonly string[])[] | undefined>;
}

/** State of a session that outlives a call. Each part is absent where it does not apply. */
export interface ToolServices {
  readonly todos?: TodoStore;
  readonly shell?: ShellMemory;
  readonly jobs?: Jobs;
  readonly freeSpace?: FreeSpace;
  readonly asker?: Asker;
  readonly skills?: SkillPort;
  readonly memory?: () => Promise<MemoryPort>;
  readonly history?: HistoryPort;
  readonly names?: () => Promise<NamePort>;
  readonly plans?: () => Promise<PlanPort>;
  readonly agents?: () => Promise<AgentPort>;
  readonly goals?: () => Promise<GoalPort>;
}

export interface AgentTask {
  readonly agent: string;
  readonly prompt: string;
  readonly description?: string;
  /** True: the call does not wait for its end. */
  readonly background?: boolean;
  /** A separate working tree, whose changes come back as a patch. */
  readonly isolation?: "worktree";
  /** Identifier of an earlier task whose conversation continues. */
  readonly resume?: string;
  /** Restricts the agent to tools that only read. */
  readonly readOnly: boolean;
  /** The call that gives the task; absent: the program itself does. */
  readonly callId?: string;
}

export interface AgentReport {
  readonly id: string;
  readonly agent: string;
  readonly state: "running" | "ok" | "error" | "aborted";
  /** The whole answer; the last text when it was cut short. */
  readonly answer: string;
  readonly problem?: string;
  readonly steps: number;
  readonly cost?: Cost;
  readonly durationMs: number;
  readonly notes: readonly string[];
}

/**
 * Other agents that work on parts of the task. A string says, for the model, why not.
 *
 * Contract: rejects only when the signal aborts, and then soon.
 */
export interface AgentPort {
  run(task: AgentTask, signal: AbortSignal): Promise<AgentReport | string>;
  output(id: string, milliseconds: number, signal: AbortSignal): Promise<AgentReport | string>;
  stop(id: string): Promise<AgentReport | string>;
}

export interface GoalReport {
  readonly status: "progress" | "blocked" | "complete";
  readonly note: string;
  /** The note is also an entry of the goal's research record. */
  readonly entry?: ResearchEntryKind;
}

export type ResearchEntryKind = "hypothesis" | "experiment" | "result" | "decision";

export interface GoalPort {
  /** Returns what the model reads. Rejects with a ReasonixError for what cannot be reported. */
  report(report: GoalReport, signal: AbortSignal): Promise<string>;
}

export interface ActivatedSkill {
  readonly content: string;
  readonly summary: Text;
}

export interface SkillPort {
  /** A string says why not. */
  activate(name: string, args?: string): Promise<ActivatedSkill | string>;
}

export type MemoryScope = "project" | "global";
export type MemoryKind = "user" | "project" | "reference" | "feedback";

export interface MemoryEntry {
  readonly name: string;
  readonly description: string;
  readonly scope: MemoryScope;
  readonly kind: MemoryKind;
  readonly pinned: boolean;
  readonly updated: string;
}

export interface MemoryHit extends MemoryEntry {
  readonly snippet: string;
}

export interface MemoryFact extends MemoryEntry {
  readonly text: string;
}

export interface NewMemory {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  readonly scope?: MemoryScope;
  readonly kind?: MemoryKind;
  readonly pinned?: boolean;
}

export interface SavedMemory {
  readonly name: string;
  readonly path: string;
  readonly updated: boolean;
}

/** Facts that outlive a session. Methods reject with a ReasonixError the model can act on. */
export interface MemoryPort {
  search(query: string, limit?: number): Promise<readonly MemoryHit[]>;
  list(): Promise<readonly MemoryEntry[]>;
  read(name: string, scope?: MemoryScope): Promise<MemoryFact>;
  remember(fact: NewMemory): Promise<SavedMemory>;
  forget(name: string, scope?: MemoryScope): Promise<{ readonly archived: string }>;
  /** Archived facts, newest first; for people only. */
  archive(): Promise<readonly (MemoryFact & { readonly archivedOn: string })[]>;
}

export interface HistoryHit {
  readonly session: string;
  readonly title: string;
  readonly seq: number;
  readonly role: string;
  readonly time: string;
  readonly snippet: string;
}

export interface HistoryPiece {
  readonly seq: number;
  readonly role: string;
  readonly time: string;
  readonly text: string;
  readonly cut: number;
}

export interface HistorySearch {
  readonly query: string;
  readonly scope: "project" | "global";
  readonly limit?: number;
}

interface HistoryAround {
  readonly session: string;
  readonly seq: number;
  readonly before?: number;
  readonly after?: number;
}

/** The texts of all sessions. Methods reject with a ReasonixError for the model. */
export interface HistoryPort {
  search(query: HistorySearch): Promise<{ readonly hits: readonly HistoryHit[]; readonly guidance?: string }>;
  around(place: HistoryAround): Promise<readonly HistoryPiece[]>;
}

/** Position of a symbol as the model gives it: a line from 1, and the name as written there. */
export interface SymbolPosition {
  readonly path: string;
  readonly line: number;
  readonly symbol: string;
}

/** Answers of language servers about symbols. Methods reject with a ReasonixError for the model. */
export interface NamePort {
  definition(place: SymbolPosition, signal: AbortSignal): Promise<string>;
  references(place: SymbolPosition, signal: AbortSignal): Promise<string>;
  hover(place: SymbolPosition, signal: AbortSignal): Promise<string>;
  symbols(path: string, query: string | undefined, signal: AbortSignal): Promise<string>;
}

export interface PlanReply {
  /** Exactly what the model reads. */
  readonly content: string;
  readonly summary: Text;
  readonly isError?: true;
  /** Ends the turn; `answer` replaces the model's last message. */
  readonly endsTurn?: { readonly answer?: string };
}

export interface PlanPort {
  /**
   * Presents a plan to the user and waits for the decision, in every approval mode. In a headless run the
   * turn ends with the plan as its answer. Rejects only when the signal aborts.
   */
  propose(plan: string, signal: AbortSignal): Promise<PlanReply>;
  /** Marks a step of the approved plan, counted from 1, as done. */
  completeStep(step: number): Promise<PlanReply>;
}

export function checklist(items: readonly TodoItem[]): string {
  if (items.length === 0) return "The todo list is empty";
  return items.map(checklistLine).join("\n");
}

export function progressOf(items: readonly TodoItem[]): Text {
  const done = items.filter((item) => item.status === "completed").length;
  return message`${`${done}/${items.length}`} done`;
}

export interface ServiceOptions {
  readonly todos?: readonly TodoItem[];
  readonly onTodos?: (items: readonly TodoItem[]) => void;
  readonly onJob?: (change: JobChange) => void;
  readonly asker?: Asker;
  /** The guard of another session, which ends it; absent: a new one. */
  readonly guard?: ProcessGuard;
  readonly freeSpace?: FreeSpace;
  readonly knowledge?: Pick<ToolServices, "skills" | "memory" | "history" | "plans" | "goals" | "agents">;
}

/** The services of one session, and their end: no command outlives the disposal. */
export interface SessionServices extends ToolServices, AsyncDisposable {
  readonly todos: TodoStore;
  /** Resolves when the helper processes of the session have ended, some time after the disposal. */
  ended(): Promise<void>;
}

export function openServices(options: ServiceOptions = {}): SessionServices {
  const own = new GuardProcess();
  const guard = options.guard ?? own;
  const { freeSpace } = options;
  const jobs = new JobTable({ guard, freeSpace, ...(options.onJob ? { onChange: options.onJob } : {}) });
  let items = options.todos ?? [];
  return {
    todos: {
      get: () => items,
      set(next) {
        items = next;
        options.onTodos?.(next);
      },
    },
    shell: { guard },
    jobs,
    ...(freeSpace ? { freeSpace } : {}),
    ...(options.asker ? { asker: options.asker } : {}),
    ...options.knowledge,
    ended: () => own.ended(),
    async [Symbol.asyncDispose]() {
      await jobs[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}
