import { type Limits, RegistryToolbox, type TurnOutcome } from "../agent/mod.ts";
import { systemPrompt } from "../context/mod.ts";
import { type EventSink, ReasonixError, type UserInput } from "../core/mod.ts";
import type { Gate } from "../permission/mod.ts";
import type { Provider } from "../provider/mod.ts";
import { createJail, createWorkspace, type Jail } from "../sandbox/mod.ts";
import { MemoryFileReadTracker, type Tool, ToolRegistry } from "../tool/mod.ts";
import { Controller } from "./controller.ts";
import { MemoryStore } from "./memory_store.ts";
import { openConversation } from "./prefix.ts";
import { Recorder } from "./recorder.ts";

/** What an agent in a program of your own is made of. */
export interface AgentOptions {
  readonly provider: Provider;
  /** Tools the model may call. Every call is allowed unless `gate` says otherwise. */
  readonly tools?: readonly Tool[];
  /** System prompt; absent: the built-in one. */
  readonly system?: string;
  /** Working directory and only writable folder of file tools. Default: the current one. */
  readonly cwd?: string;
  readonly limits?: Limits;
  readonly gate?: Gate;
  /** Reads everything that happens. */
  readonly onEvent?: EventSink;
}

/** An agent with one conversation, kept in memory. */
export interface EmbeddedAgent {
  readonly controller: Controller;
  /** Runs one turn. Rejects only for misuse; see {@linkcode TurnOutcome} for how it ended. */
  run(input: string | UserInput, signal?: AbortSignal): Promise<TurnOutcome>;
}

const ALLOW: Gate = { check: () => ({ decision: "allow", source: "mode" }) };

/** Builds an agent from a provider and tools of your own, without configuration, files or a terminal. */
export async function createAgent(options: AgentOptions): Promise<EmbeddedAgent> {
  const cwd = Deno.realPathSync(options.cwd ?? Deno.cwd());
  const registry = new ToolRegistry([], options.tools ?? []);
  const recorder = new Recorder(new MemoryStore());
  if (options.onEvent) recorder.subscribe(options.onEvent);
  await openConversation(recorder, {
    system: options.system ?? systemPrompt({ instructions: [] }),
    tools: registry.schemas(),
    model: options.provider.model.id,
  });
  const controller = new Controller(recorder, {
    provider: options.provider,
    toolbox: toolbox(registry, cwd, options.provider.model.vision),
    gate: options.gate ?? ALLOW,
    limits: options.limits ?? {},
  });
  return {
    controller,
    async run(input, signal) {
      const stop = () => void controller.submit({ type: "interrupt", reason: "interrupted" });
      signal?.addEventListener("abort", stop, { once: true });
      try {
        const turn = typeof input === "string" ? { text: input } : input;
        const outcome = await controller.submit({ type: "turn", input: turn });
        if (!outcome) throw new ReasonixError("Cannot run the turn: the controller returned no outcome");
        return outcome;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
  };
}

function toolbox(registry: ToolRegistry, cwd: string, vision: boolean): RegistryToolbox {
  const home = `${Deno.env.get("TMPDIR") ?? "/tmp"}/reasonix-embedded`;
  let jail: Promise<Jail> | undefined;
  return new RegistryToolbox({
    registry,
    jail: () => jail ??= createJail({ mode: "auto", roots: [cwd], home, network: "none" }),
    context: {
      cwd,
      paths: createWorkspace({ cwd, roots: [cwd], home }),
      seen: new MemoryFileReadTracker(),
      outputDir: `${home}/outputs`,
      settings: {
        bashTimeoutSeconds: 120,
        minFreeDiskMb: 512,
        shell: { prefer: "auto" },
        ensureTrailingNewline: false,
        writes: "allow",
        vision,
      },
    },
  });
}
