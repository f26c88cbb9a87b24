/**
 * The smallest chat there can be on this runtime: a prompt, keys echoed, a line sent as a request, the answer
 * printed. No editing, session or layout: the difference to it is the cost of a product.
 */
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const show = (text: string) => Deno.stdout.writeSync(encoder.encode(text));

async function answer(text: string): Promise<void> {
  const body = JSON.stringify({ model: "mock", stream: true, messages: [{ role: "user", content: text }] });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${Deno.env.get("FLOOR_URL")}/chat/completions`, {
    method: "POST",
    body,
    headers,
  });
  let rest = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      show((JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "").replaceAll("\n", "\r\n"));
    }
  }
  show("\r\n> ");
}

Deno.stdin.setRaw(true);
show("> ");
let line = "";
const buffer = new Uint8Array(65_536);
for (let count; (count = await Deno.stdin.read(buffer)) !== null;) {
  const typed = decoder.decode(buffer.subarray(0, count));
  if (typed === "\x03") break;
  if (typed.endsWith("\r")) {
    show("\r\n");
    void answer(line + typed.slice(0, -1));
    line = "";
  } else {
    show(typed);
    line += typed;
  }
}
Deno.stdin.setRaw(false);
