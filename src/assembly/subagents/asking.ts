import type { Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import type { AssemblyOptions } from "../run_options.ts";

type Asked = Pick<AssemblyOptions, "approver" | "asker" | "amended">;

/**
 * The person as an agent asks them: every question goes through the run that it works for and says whose it
 * is. Calls of agents may have the same identifiers, so that theirs begin with the agent's own.
 */
export function askedBy(agent: string, id: string, { approver, asker, amended }: Asked): Asked {
  const own = (callId: string) => `${id}/${callId}`;
  return {
    ...(approver ? { approver: labelled(approver, agent, own) } : {}),
    ...(asker ? { asker: labelledAsker(asker, agent) } : {}),
    ...(amended ? { amended: (callId) => amended(own(callId)) } : {}),
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
