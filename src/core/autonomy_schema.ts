/** Event kinds of what happens beside a single turn: plans, goals, other agents, verification, hooks. */
import * as z from "zod/mini";
import { spent } from "./event_shapes.ts";

export const AUTONOMY_KINDS = {
  /** A plan was proposed, or the user has decided about it. */
  "plan.change": z.object({
    state: z.enum(["proposed", "approved", "revised", "rejected", "finished"]),
    /** The plan as Markdown, when it is proposed or the user has changed it. */
    plan: z.optional(z.string()),
    /** The file that has it. */
    file: z.optional(z.string()),
    /** Words of the user's own. */
    note: z.optional(z.string()),
    /** Its calls are not asked about until the turn that carries it out has ended. */
    window: z.optional(z.boolean()),
    /** Edits are not asked about for the rest of the session. */
    acceptEdits: z.optional(z.boolean()),
    /** A flag of the command line has approved it, in place of a person. */
    by: z.optional(z.literal("flag")),
  }),
  /** A goal was set, came further, or ended; between two of these it is as the last one says. */
  "goal.change": z.object({
    goal: z.string(),
    /** `stopped` can be taken up again, as `blocked` and `limit` can; `cleared` cannot. */
    state: z.enum(["active", "blocked", "complete", "stopped", "limit", "cleared"]),
    objective: z.string(),
    /** Commands whose exit code decides whether it is reached. */
    checks: z.optional(z.array(z.string())),
    /** The results of the last time they ran. */
    results: z.optional(z.array(z.object({ command: z.string(), passed: z.boolean() }))),
    /** The model's last word on it, or why it ended. */
    note: z.optional(z.string()),
    /** The bound that ended it. */
    limit: z.optional(z.enum(["turns", "cost", "time", "progress", "turn"])),
    /** Turns that were taken for it. */
    turns: z.number(),
    /** What was spent since it was begun or taken up again; the bounds are about that. */
    leg: z.object({ turns: z.number(), durationMs: z.number(), cost: z.number() }),
    /** What the model was blocked by, as it is compared, and how often in a row. */
    blocked: z.optional(z.object({ by: z.string(), times: z.number() })),
    /** Turns in a row without an effect; one that only read something new counts half. */
    idle: z.number(),
    /** Directory of its research record. */
    research: z.optional(z.string()),
    /** The report of its research. */
    report: z.optional(z.string()),
  }),
  /** Another agent begins to work on a part of the task, in a session of its own. */
  "subagent.start": z.object({
    id: z.string(),
    agent: z.string(),
    session: z.string(),
    model: z.string(),
    prompt: z.string(),
    /** What it is to do, in a few words. */
    description: z.optional(z.string()),
    /** The call that began it. */
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** It goes on with the conversation of an earlier one. */
    resumed: z.optional(z.boolean()),
  }),
  /** What another agent is doing, in one line. Live only. */
  "subagent.progress": z.object({
    id: z.string(),
    agent: z.string(),
    text: z.string(),
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** Calls that it has made. */
    calls: z.number(),
  }),
  /** Another agent is done; its usage is part of this session's totals. */
  "subagent.end": z.object({
    id: z.string(),
    agent: z.string(),
    outcome: z.enum(["ok", "error", "aborted"]),
    /** The last words of its answer, or why there is none. */
    summary: z.string(),
    model: z.optional(z.string()),
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** Calls that it made. */
    calls: z.optional(z.number()),
    steps: z.number(),
    ...spent,
  }),
  /** A command begins to test what the turn changed. Live only. */
  "verification.start": z.object({ round: z.number(), command: z.string() }),
  /** A command has tested what the turn changed. */
  "verification": z.object({
    round: z.number(),
    command: z.string(),
    outcome: z.enum(["passed", "failed", "timeout", "skipped"]),
    exitCode: z.optional(z.number()),
    /** The reason why it was not run, or the end of what it printed. */
    text: z.optional(z.string()),
    /** The changed files that it tests; absent where it tests a goal. */
    files: z.optional(z.array(z.string())),
    durationMs: z.number(),
  }),
  /** A hook has run. */
  "hook": z.object({
    event: z.string(),
    command: z.string(),
    outcome: z.enum(["ok", "blocked", "failed", "timeout"]),
    /** What it said about a call or an end. */
    decision: z.optional(z.enum(["deny", "defer", "ask", "allow"])),
    durationMs: z.number(),
    /** Its reason, or what it wrote for people. */
    text: z.optional(z.string()),
    /** The arguments, as JSON, that it wants in place of the call's. */
    updatedInput: z.optional(z.string()),
    callId: z.optional(z.string()),
  }),
} as const;
