import type { EventBodies } from "../../core/event_schema.ts";
import type { AgentPort } from "./agent_port.ts";
import type { NamePort } from "./name_port.ts";
import type { HistoryPort, MemoryPort, SkillPort } from "./knowledge_ports.ts";
import type { GoalPort } from "./goal_port.ts";
import type { PlanPort } from "./plan_port.ts";

export type TodoItem = EventBodies["todo.update"]["items"][number];
export type JobChange = Readonly<EventBodies["job.change"]>;

/** The todo list of a session. */
export interface TodoStore {
  get(): readonly TodoItem[];
  set(items: readonly TodoItem[]): void;
}

/** The state that commands of one session share. */
export interface ShellMemory {
  /** The place where the last command left off; absent: the working directory of the session. */
  cwd?: string;
  /** Sees to it that no process outlives the session. */
  readonly guard: ProcessGuard;
  /** Starts the shell of the next command ahead. */
  readonly spare?: ShellStarter;
}

/** Keeps a shell ready for the next command. */
export interface ShellStarter {
  /**
   * The shell that waits, which has been given the command; undefined when none waits that was started like
   * this one would be now.
   */
  run(command: string, wanted: () => NextShell): Deno.ChildProcess | undefined;
  /** Says whether a shell waits. */
  readonly waits: boolean;
  /**
   * Has a shell wait that is started like this; one that was started otherwise ends. `inMs`: only once so
   * many milliseconds have passed without a command.
   */
  prepare(next: () => NextShell | undefined, inMs?: number): void;
}

/** The shell of the next command, as it would be started now. */
export interface NextShell {
  readonly plan: WaitingPlan;
  readonly cwd: string;
  readonly guard?: ProcessGuard | undefined;
}

/** Ends process groups when the program is gone, however it went. */
export interface ProcessGuard {
  /** Set in the environment of every child, so that the ones that left their group are found, too. */
  readonly mark: Readonly<Record<string, string>>;
  /** Must have been called before the program may be gone; calling it again does nothing. */
  start(): void;
  add(group: number): void;
  remove(group: number): void;
}

/** A background command as the model and front ends see it. */
export interface JobView {
  readonly id: string;
  readonly command: string;
  readonly status: "running" | "exited" | "killed";
  readonly exitCode?: number;
  readonly signal?: string;
  /** The reason why it was ended, when nobody asked for that. */
  readonly reason?: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** File with everything the job printed. */
  readonly outputFile: string;
}

/** The output of a job since the last look. */
export interface JobNews {
  readonly view: JobView;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that were passed over because there were too many. */
  readonly skipped: number;
  /** Bytes since the last look that were not kept, because the disk is full. */
  readonly dropped: number;
}

/** Bytes that programs can still write on the volume of a directory; undefined where nobody can tell. */
export type FreeSpace = (folder: string) => Promise<number | undefined>;

/** A command line ready to be spawned. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** To be called once the command has ended: what the model should know of files that it made. */
  readonly ended?: () => readonly string[];
  /**
   * Given what was written before the command itself began: a plan made anew where that shows that the jail
   * could not be set up, so that nothing of the command has run.
   */
  readonly again?: (said: string) => SpawnPlan | undefined;
  /** The same around a shell that waits for its command; absent: none may. */
  readonly ahead?: AroundWaiting;
}

/** What a shell that waits for its command is started with. */
export type AroundWaiting = (argv: readonly string[]) => WaitingPlan;

/** A shell that waits for its command, as it would be started at this moment. */
export interface WaitingPlan extends Pick<SpawnPlan, "command" | "args" | "env"> {
  /** What its jail rests on: where this is not the same, a shell that waits is of no use. */
  readonly basis: string;
  /** When the youngest part of that changed, in milliseconds since 1970; 0: never. */
  readonly changed: number;
}

export interface JobSpec {
  readonly command: string;
  /** The spawned program, as the jail made it. */
  readonly plan: SpawnPlan;
  readonly cwd: string;
  /** Directory for the output. */
  readonly dir: string;
  /** Megabytes that must stay free on the disks of both directories; 0: none. */
  readonly minFreeDiskMb: number;
}

/** The background commands of a session; they end with it. */
export interface Jobs {
  start(spec: JobSpec): JobView;
  list(): readonly JobView[];
  get(id: string): JobView | undefined;
  /** Output since the last call for this job. */
  news(id: string): JobNews | undefined;
  /** Resolves when the job has ended or the time is over. */
  ended(id: string, milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Ends the job and its children. */
  kill(id: string): Promise<JobView | undefined>;
}

export interface Question {
  readonly question: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  /** Says whether more than one option may be chosen. */
  readonly multiple: boolean;
  /** Words of the person's own are what is asked for: a place for them comes before the options. */
  readonly written?: boolean;
}

/** Puts questions to the user. Absent when nobody is there. */
export interface Asker {
  /** Chosen labels or own words, one list per question; undefined when the user declined. */
  ask(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (readonly string[])[] | undefined>;
}

/** State of a session that outlives a call. Each part is absent where it makes no sense. */
export interface ToolServices {
  readonly todos?: TodoStore;
  readonly shell?: ShellMemory;
  readonly jobs?: Jobs;
  /** Absent: the operating system is asked. */
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
