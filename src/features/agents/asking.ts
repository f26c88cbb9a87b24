import type { Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import type { AssemblyOptions } from "../../run/mod.ts";
import type { Slots } from "./slots.ts";

interface Asking extends Asked {
  /** Agents that work side by side ask one after the other. */
  readonly turns: Slots;
}

type Asked = Pick<AssemblyOptions, "approver" | "asker" | "amended">;

/**
 * The person as an agent asks them: every question goes through the run that it works for, one at a time, and
 * says whose it is. Calls of agents may have the same identifiers, so that theirs begin with the agent's own.
 */
export function askedBy(agent: string, id: string, { approver, asker, amended, turns }: Asking): Asked {
  const own = (callId: string) => `${id}/${callId}`;
  return {
    ...(approver ? { approver: inTurn(labelled(approver, agent, own), turns) } : {}),
    ...(asker ? { asker: inTurn(labelledAsker(asker, agent), turns) } : {}),
    ...(amended ? { amended: (callId) => amended(own(callId)) } : {}),
  };
}

function inTurn<Q, A>(
  { ask }: { ask(question: Q, signal: AbortSignal): Promise<A> },
  turns: Slots,
): { ask(question: Q, signal: AbortSignal): Promise<A> } {
  return {
    async ask(question, signal) {
      const release = await turns.take(signal);
      try {
        return await ask(question, signal);
      } finally {
        release();
      }
    },
  };
}

function labelled(approver: Approver, agent: string, own: (callId: string) => string): Approver {
  return {
    ask: (request, signal) =>
      approver.ask({
        ...request,
        callId: own(request.callId),
        agent: request.agent === undefined ? agent : `${agent} › ${request.agent}`,
      }, signal),
  };
}

function labelledAsker(asker: Asker, agent: string): Asker {
  return {
    ask: (questions, signal) =>
      asker.ask(questions.map((each) => ({ ...each, question: `[${agent}] ${each.question}` })), signal),
  };
}
