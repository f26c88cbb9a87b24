import type {
  Asker,
  FreeSpace,
  JobChange,
  ProcessGuard,
  TodoItem,
  TodoStore,
  ToolServices,
} from "./services.ts";
import { GuardProcess } from "../shell/guard.ts";
import { JobTable } from "../shell/jobs/job_table.ts";

export interface ServiceOptions {
  /** The list an earlier part of the session left. */
  readonly todos?: readonly TodoItem[];
  readonly onTodos?: (items: readonly TodoItem[]) => void;
  readonly onJob?: (change: JobChange) => void;
  readonly asker?: Asker;
  /** That of another session, which ends it; absent: one of its own. */
  readonly guard?: ProcessGuard;
  /** Absent: the operating system is asked. */
  readonly freeSpace?: FreeSpace;
  /** The ports of the tools about skills, memory, earlier sessions, plans and other agents. */
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
