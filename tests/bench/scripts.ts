/** What the scripted model says in each scenario, reply by reply. */
import type { ScriptedAnswer } from "../support/model_wire.ts";
import { BENCH_KINDS, kindScenario } from "./kinds.ts";

export const READS = 100;
export const SHELLS = 30;
export const LONG_STEPS = 400;
export const STREAM_EVENTS = 131_072;
export const SEARCHES = 6;

/** Agents that work side by side, and what the model takes for each of their answers. */
export const AGENTS = 8;
export const AGENT_MS = 500;

/** A pattern found in every hundredth file of the search tree, and a glob that names as many. */
export const GREP_PATTERN = "needle_[0-9]+";
export const GLOB_PATTERN = "**/*_needle.ts";

const DONE: ScriptedAnswer = { text: "All done." };

function calls(name: string, args: Record<string, unknown>): ScriptedAnswer {
  return { calls: [{ name, args }] };
}

function searchStep(index: number): ScriptedAnswer {
  if (index >= 2 * SEARCHES) return DONE;
  return index % 2 === 0
    ? calls("grep", { pattern: GREP_PATTERN })
    : calls("glob", { pattern: GLOB_PATTERN });
}

function hello(): ScriptedAnswer {
  return { text: "Hello." };
}

function reads(index: number): ScriptedAnswer {
  return index < READS ? calls("read_file", { path: `src/part_${index % 500}.ts` }) : DONE;
}

/** The number keeps the commands apart, so that no detector of repeated calls has a reason to step in. */
function shell(index: number): ScriptedAnswer {
  return index < SHELLS ? calls("bash", { command: `true ${index}` }) : DONE;
}

/** The first request gives all tasks, the agents ask once each, the last request has their answers. */
function agents(count: number): (index: number) => ScriptedAnswer {
  return (index) => {
    if (index > 0) return index <= count ? { text: "Found." } : DONE;
    const task = (at: number) => ({ name: "task", args: { agent: "explore", prompt: `Find part ${at}.` } });
    return { calls: Array.from({ length: count }, (_, at) => task(at)) };
  };
}

/** Milliseconds that the model takes for a reply. */
export function thinkingTime(scenario: string, index: number): number {
  const count = scenario === "subagents_8" ? AGENTS : scenario === "subagents_1" ? 1 : 0;
  return index > 0 && index <= count ? AGENT_MS : 0;
}

/**
 * The reply to request `index` (from 0) of a run. The stream scenario is bytes of its own: see the server.
 */
export const SCRIPTS: Readonly<Record<string, (index: number) => ScriptedAnswer>> = {
  hello,
  reads,
  shell,
  usual_hello: hello,
  ...Object.fromEntries(Object.keys(BENCH_KINDS).map((kind) => [kindScenario(kind), hello])),
  usual_reads: reads,
  usual_shell: shell,
  long: (index) => index < LONG_STEPS ? calls("read_file", { path: `pages/page_${index}.txt` }) : DONE,
  subagents_1: agents(1),
  subagents_8: agents(AGENTS),
  search: searchStep,
  // The second answer is a stream of its own: see the server.
  chat: hello,
};
