/** A scripted server for runs with other agents: each conversation has a separate script. */
import {
  type ModelServer,
  type RecordedRequest,
  type ScriptedTurn,
  startModelServer,
  type Turn,
} from "./model_server.ts";

export interface AgentScripts {
  /** Replies of the conversation with the user. */
  readonly main: readonly ScriptedTurn[];
  /** Replies of an agent's conversation by a word of its task. */
  readonly [word: string]: readonly ScriptedTurn[];
}

/** The texts of the user messages of a request. */
export function userTexts(request: RecordedRequest): string[] {
  const messages = request.json.messages as { role: string; content: unknown }[];
  return messages.filter(({ role }) => role === "user").map(({ content }) =>
    typeof content === "string" ? content : JSON.stringify(content)
  );
}

/** The agent whose conversation a request belongs to; undefined for that with the user. */
export function agentOf(request: RecordedRequest): string | undefined {
  return /You are the agent \\?"([^"\\]+)\\?"/.exec(String(request.json.messages[0].content))?.[1];
}

/** Starts a server that answers every conversation by its own script. */
export function startAgentServer(scripts: AgentScripts): ModelServer {
  const at = new Map<string, number>();
  const words = Object.keys(scripts).filter((word) => word !== "main");
  const lane = (request: RecordedRequest): string => {
    if (agentOf(request) === undefined) return "main";
    const all = userTexts(request).join("\n");
    return words.find((word) => all.includes(word)) ?? "unknown";
  };
  return startModelServer([], {
    lane,
    fallback: async (request): Promise<Turn> => {
      const key = lane(request);
      const next = at.get(key) ?? 0;
      at.set(key, next + 1);
      const turn = scripts[key]?.[next];
      if (turn === undefined) return { text: `(no reply left for ${key})` };
      return typeof turn === "function" ? await turn(request) : turn;
    },
  });
}
