/** The replies of the scripted model. */
import type { ScriptedAnswer } from "../../support/model_wire.ts";

export const READS = 100;
export const SHELLS = 30;
const WRITES = 20;
export const LONG_STEPS = 400;
export const STREAM_EVENTS = 131_072;
const SEARCHES = 6;

/** The number of parallel agents, and the model's time for each of their answers. */
export const AGENTS = 8;
export const AGENT_MS = 500;

/** A mixed task: each round reads, searches, edits, writes, and runs a test. */
const ROUNDS = 4;
export const TASK_STEPS = 5 * ROUNDS;

/** A pattern found in every hundredth file of the search tree, and a glob that names as many. */
export const GREP_PATTERN = "needle_[0-9]+";
export const GLOB_PATTERN = "**/*_needle.ts";

/** The command of `hanging_command`, with arguments that no other process has. */
export const HANGING = "sleep 60.0625";

/** Longer than any run waits. */
const FOREVER_MS = 60_000;

export interface Script {
  /** The number of requests of a run that executes every call. */
  readonly requests: number;
  /** The reply to request `index`, from 0. */
  reply(index: number): ScriptedAnswer;
  /** Milliseconds it thinks before that reply, whatever the scenario says. */
  think?(index: number): number;
}

const END: ScriptedAnswer = { text: "All done." };

function call(name: string, args: Record<string, unknown>): ScriptedAnswer {
  return { calls: [{ name, args }] };
}

/** One call per reply, then the end. */
function calls(count: number, of: (index: number) => ScriptedAnswer): Script {
  return { requests: count + 1, reply: (index) => index < count ? of(index) : END };
}

/** The numbers distinguish the calls, so that no detector of repeated calls triggers. */
function note(index: number): ScriptedAnswer {
  const content = `# Note ${index}\n\n${`What part ${index} should do, in a line of its own.\n`.repeat(20)}`;
  return call("write_file", { path: `notes/note_${index}.md`, content });
}

/** A step of the mixed task; `check.sh` of the workspace is its test. */
function mixed(index: number): ScriptedAnswer {
  const part = 7 * Math.floor(index / 5) + 3;
  const path = `src/part_${part}.ts`;
  const steps = [
    () => call("read_file", { path }),
    () => call("grep", { pattern: `part${part}\\b` }),
    () => call("edit_file", { path, old_string: `value * ${part} + 1`, new_string: `value * ${part} + 2` }),
    () => call("write_file", { path: `expected/part_${part}.txt`, content: `value * ${part} + 2\n` }),
    () => call("bash", { command: `sh check.sh ${part}` }),
  ];
  return steps[index % 5]?.() ?? END;
}

/** The first request gives all tasks, the agents ask once each, the last request has their answers. */
function agents(count: number): Script {
  const task = (at: number) => ({ name: "task", args: { agent: "explore", prompt: `Find part ${at}.` } });
  return {
    requests: count + 2,
    reply: (index) =>
      index === 0
        ? { calls: Array.from({ length: count }, (_, at) => task(at)) }
        : index <= count
        ? { text: "Found." }
        : END,
    think: (index) => index > 0 && index <= count ? AGENT_MS : 0,
  };
}

export const SCRIPTS: Readonly<Record<string, Script>> = {
  hello: { requests: 1, reply: () => ({ text: "Hello." }) },
  reads: calls(READS, (index) => call("read_file", { path: `src/part_${index % 500}.ts` })),
  shell: calls(SHELLS, (index) => call("bash", { command: `true ${index}` })),
  writes: calls(WRITES, note),
  task: calls(TASK_STEPS, mixed),
  long: calls(LONG_STEPS, (index) => call("read_file", { path: `pages/page_${index}.txt` })),
  agents_1: agents(1),
  agents_8: agents(AGENTS),
  search: calls(
    2 * SEARCHES,
    (index) =>
      index % 2 === 0 ? call("grep", { pattern: GREP_PATTERN }) : call("glob", { pattern: GLOB_PATTERN }),
  ),
  silent: { requests: 1, reply: () => END, think: () => FOREVER_MS },
  hanging_command: calls(1, () => call("bash", { command: HANGING })),
  // These three are separate streams: see the server.
  stream: { requests: 1, reply: () => END },
  tokens: { requests: 1, reply: () => END },
  chat: { requests: 0, reply: () => ({ text: "Hello." }) },
};
