import { RegistryToolbox } from "../src/agent/mod.ts";
import type { LoadedConfig } from "../src/config/mod.ts";
import type { Recorder } from "../src/control/mod.ts";
import type { Jail, Workspace } from "../src/sandbox/mod.ts";
import type { SessionLog } from "../src/session/mod.ts";
import { MapSeenFiles, openServices, type SessionServices, type ToolRegistry } from "../src/tool/mod.ts";
import type { Knowledge } from "./knowledge.ts";
import { LazyJail } from "./lazy_jail.ts";
import { toolSettings } from "./parts.ts";
import type { Place } from "./place.ts";
import { RunToolHost } from "./tool_host.ts";

export interface ToolParts {
  readonly place: Place;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  readonly log: SessionLog;
  readonly recorder: Recorder;
  readonly registry: ToolRegistry;
  readonly knowledge: Knowledge;
  /** Commands run without a jail, and the user knows. */
  readonly unconfined: boolean;
  /** Whether the model sees images. */
  readonly vision: boolean;
}

export interface RunTools {
  readonly toolbox: RegistryToolbox;
  /** Where the last command left off. */
  readonly shellFolder: () => string | undefined;
  /** Chooses the command jail ahead of the first command. */
  openJail(): Promise<Jail>;
  /** Ends what runs in the background. */
  close(): Promise<void>;
}

/** The tools of a run with what they work in: jail, services, and the files seen so far. */
export function buildTools(parts: ToolParts): RunTools {
  const { place, loaded, workspace, log, recorder, registry, vision, knowledge, unconfined } = parts;
  const services = buildServices(log, recorder, knowledge);
  const outputDir = `${log.paths.dir}/outputs`;
  const jail = new LazyJail({
    place,
    loaded,
    workspace,
    unconfined,
    sessionDir: log.paths.dir,
    outputDir,
    tell: (text) => void recorder.record({ type: "notice", level: "info", code: "sandbox", text }),
  });
  jail.watch(recorder);
  const host = new RunToolHost({
    workspace,
    outputDir,
    guard: services.shell?.guard,
    tell: (text) => void recorder.record({ type: "notice", level: "warning", code: "tools", text }),
  });
  const toolbox = new RegistryToolbox({
    registry,
    jail: jail.open,
    execute: host.execute,
    context: {
      cwd: place.cwd,
      paths: workspace,
      seen: new MapSeenFiles(),
      outputDir,
      settings: toolSettings(loaded.config, vision),
      services,
    },
  });
  return {
    toolbox,
    openJail: jail.open,
    shellFolder: () => services.shell?.cwd,
    async close() {
      await host.close();
      await services[Symbol.asyncDispose]();
      await jail.close();
    },
  };
}

/** Services of the tools whose changes are events of the session. */
function buildServices(log: SessionLog, recorder: Recorder, knowledge: Knowledge): SessionServices {
  return openServices({
    knowledge: knowledge.ports,
    todos: log.state.todos,
    onTodos: (items) => void recorder.record({ type: "todo.update", items: [...items] }),
    onJob: (change) => void recorder.record({ type: "job.change", ...change }),
  });
}
