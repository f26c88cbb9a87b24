import type { World } from "./program.ts";
import { readSdkLines } from "./sdk_messages.ts";

/** The flags that every SDK starts the program with. */
export const LAUNCH = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/** A line of the user. */
export const user = (content: unknown, more: Record<string, unknown> = {}) => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  ...more,
});

/** A request of the SDK. */
export const control = (id: string, request: unknown) => ({
  type: "control_request",
  request_id: id,
  request,
});

interface Asked {
  readonly tool_use_id: string;
  readonly input: Record<string, unknown>;
}

/** A client that sends the messages of the SDKs; `answer` answers control requests. */
export async function launch(
  world: World,
  flags: readonly string[],
  answer: (request: Asked) => unknown = () => ({}),
) {
  const child = await world.spawn([...LAUNCH, ...flags], { stdin: "open" });
  const writer = child.stdin.getWriter();
  const raw = (text: string) => writer.write(new TextEncoder().encode(text));
  const send = (line: unknown) => raw(`${JSON.stringify(line)}\n`);
  let out = "";
  let ended = false;
  let wake = () => {};
  const read = (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const before = out.lastIndexOf("\n") + 1;
      out += piece;
      for (const line of out.slice(before, out.lastIndexOf("\n") + 1).split("\n").filter(Boolean)) {
        const message = JSON.parse(line);
        if (message.type !== "control_request") continue;
        const response = {
          subtype: "success",
          request_id: message.request_id,
          response: answer(message.request),
        };
        void send({ type: "control_response", response });
      }
      wake();
    }
    ended = true;
    wake();
  })();
  const seen = async (part: string, times = 1) => {
    const whole = () => out.slice(0, out.lastIndexOf("\n") + 1);
    while (whole().split(part).length <= times) {
      if (ended) throw new Error(`The program ended without ${part}: ${out}`);
      await new Promise<void>((resolve) => wake = resolve);
    }
  };
  const response = async (id: string) => {
    const part = `"request_id":"${id}"`;
    await seen(part);
    return JSON.parse(out.split("\n").find((each) => each.includes(part)) ?? "").response;
  };
  const request = async (id: string, fields: unknown) => {
    await send(control(id, fields));
    return await response(id);
  };
  const end = async () => {
    await writer.close();
    const [status] = await Promise.all([child.status, read, new Response(child.stderr).text()]);
    return { code: status.code, lines: readSdkLines(out) };
  };
  return { raw, send, seen, request, end };
}
