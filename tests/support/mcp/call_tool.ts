/** Results of calls of a scripted server's tools. */
import { PNG } from "./offer.ts";

/** The part of its session that a call sees. */
export interface CallContext {
  readonly signal: AbortSignal;
  /** Sends progress to a client that requested it. */
  progress(done: number, total: number, message: string): void;
  /** Prompts the client; throws `InputNeeded` in the era in which the client repeats the call. */
  ask(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Changes the list of tools with a notification. */
  change(): void;
  /** Ends the process. */
  die(): void;
}

/** Elicitation of the new era: the result of the call is the prompt. */
export class InputNeeded extends Error {
  constructor(readonly question: Readonly<Record<string, unknown>>) {
    super("Input is needed");
  }
}

type Arguments = Readonly<Record<string, unknown>>;
type Result = Readonly<Record<string, unknown>>;

const say = (text: string): Result => ({ content: [{ type: "text", text }] });

const RESULTS: Readonly<Record<string, Result>> = {
  text: say("plain text"),
  two: { content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
  empty: { content: [] },
  image: { content: [{ type: "image", data: PNG, mimeType: "image/png" }] },
  audio: { content: [{ type: "audio", data: "UklGRg==", mimeType: "audio/wav" }] },
  link: {
    content: [{
      type: "resource_link",
      uri: "scripted://page/1",
      name: "page 1",
      description: "The first page",
    }],
  },
  embedded: {
    content: [{
      type: "resource",
      resource: { uri: "scripted://page/1", mimeType: "text/plain", text: "page 1\n" },
    }],
  },
  blob: {
    content: [{
      type: "resource",
      resource: { uri: "scripted://file.bin", mimeType: "application/octet-stream", blob: "AAEC" },
    }],
  },
  structured: { content: [], structuredContent: { answer: 42, list: ["世界"] } },
  wrapped: { content: [{ type: "text", text: "once" }], structuredContent: { content: "once" } },
  both: { content: [{ type: "text", text: '{"answer":42}' }], structuredContent: { answer: 42 } },
  complete: {
    content: [{ type: "text", text: "all" }],
    structuredContent: { answer: 42, list: [] },
    _meta: { "reasonix/text": "complete" },
  },
  error: { content: [{ type: "text", text: "it did not work" }], isError: true },
  unknown: { content: [{ type: "hologram", data: "?" }] },
  escapes: say("\x1b[31mred\x1b[0m \x1b]0;title\x07 bell"),
  nothing: {},
};

const TOOLS: Readonly<Record<string, (args: Arguments, context: CallContext) => Result | Promise<Result>>> = {
  echo: ({ text }) => say(String(text)),
  result: ({ kind }) => RESULTS[String(kind)] ?? say(`no result of the kind ${kind}`),
  size: ({ bytes }) => say("x".repeat(Number(bytes))),
  progress({ steps = 3 }, context) {
    for (let step = 1; step <= Number(steps); step++) {
      context.progress(step, Number(steps), `step ${step}`);
    }
    return say("all steps done");
  },
  wait: (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled")))),
  ask: async ({ mode = "form" }, context) =>
    say(JSON.stringify(await context.ask("elicitation/create", question(mode)))),
  sample: async ({ prompt = "Say hello" }, context) => {
    const messages = [{ role: "user", content: { type: "text", text: prompt } }];
    return say(JSON.stringify(await context.ask("sampling/createMessage", { messages, maxTokens: 100 })));
  },
  roots: async (_, context) => say(JSON.stringify(await context.ask("roots/list", {}))),
  change: (_, context) => {
    context.change();
    return say("changed");
  },
  die: (_, context) => {
    context.die();
    return say("dying");
  },
  surroundings: () => say(JSON.stringify({ cwd: Deno.cwd(), env: Deno.env.toObject(), pid: Deno.pid })),
};

function question(mode: unknown): Record<string, unknown> {
  if (mode === "url") {
    return { mode, message: "Sign in", url: "https://example.org/sign-in", elicitationId: "sign-in-1" };
  }
  return {
    message: "Who are you?",
    requestedSchema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name" },
        age: { type: "integer", minimum: 0 },
        colour: { type: "string", enum: ["red", "green"] },
      },
      required: ["name"],
    },
  };
}

/** The result of a call. Unscripted tools echo their arguments. */
export async function callTool(name: string, args: Arguments, context: CallContext): Promise<Result> {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  return await (tool?.(args, context) ?? say(`${name} ${JSON.stringify(args)}`));
}
