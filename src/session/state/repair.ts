import type { NewEvent } from "../../core/mod.ts";
import { openTurn, type SessionState } from "./state.ts";

/**
 * Events that close what a crash (or a rewind into the middle of a turn) left open, so that the next request
 * is valid: one result for each call without one, the ends of other agents, then the end of the turn. Empty
 * when nothing is open, so repairing twice adds nothing.
 */
export function repair(state: SessionState): NewEvent[] {
  const events: NewEvent[] = [];
  for (const call of state.pending.values()) {
    events.push({
      type: "tool.end",
      callId: call.id,
      name: call.name,
      outcome: "aborted",
      content: resumable(state, call.id) ??
        (call.started
          ? "error: the program ended before the result was known; the call may have taken effect, so check before repeating it"
          : "error: the program ended before this call began; nothing was done"),
      summary: "no result",
      durationMs: 0,
    });
  }
  for (const { id, agent, callId } of state.agents.values()) {
    events.push({
      type: "subagent.end",
      id,
      agent,
      outcome: "aborted",
      summary: "The program ended before it was done",
      ...(callId === undefined ? {} : { callId }),
      steps: 0,
      durationMs: 0,
    });
  }
  const turn = openTurn(state);
  if (turn) {
    events.push({
      type: "turn.end",
      turn: turn.turn,
      reason: "interrupted",
      detail: "The program ended before the turn was finished",
      answer: lastText(state, turn.from),
      steps: turn.steps,
      usage: turn.usage,
      durationMs: state.updated ? Math.max(0, Date.parse(state.updated) - Date.parse(turn.started)) : 0,
    });
  }
  return events;
}

/** What the model is told of a task that an agent was working on. */
function resumable({ agents }: SessionState, callId: string): string | undefined {
  const its = [...agents.values()].find((agent) => agent.callId === callId);
  return its &&
    `error: the program ended while the agent ${its.agent} was working; its conversation is kept: ` +
      `task with agent ${its.agent} and resume ${its.id} goes on with it`;
}

function lastText(state: SessionState, from: number): string {
  for (let i = state.messageList.length - 1; i >= 0 && (state.sources[i]?.seq ?? 0) > from; i--) {
    const message = state.messageList.at(i);
    if (message?.role === "assistant" && message.content !== "") return message.content;
  }
  return "";
}
