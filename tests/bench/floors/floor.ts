/**
 * The smallest agent there can be on this runtime: one request per step, the tools the scenarios need, the
 * answer printed, each message serialized once. No sessions, permissions or retries: the difference to it is
 * the cost of a product.
 */
interface Call {
  readonly id: string;
  readonly function: { name: string; arguments: string };
}

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly {
    index: number;
    id?: string;
    function: { name?: string; arguments?: string };
  }[];
}

const url = `${Deno.env.get("FLOOR_URL")}/chat/completions`;
const encoder = new TextEncoder();
let body = new Uint8Array(65_536);
let used = 0;

/** Appends to the request body, which only ever grows: what was sent before is kept as bytes. */
function append(text: string): void {
  if (body.length < used + 3 * text.length) {
    const larger = new Uint8Array(2 * (used + 3 * text.length));
    larger.set(body.subarray(0, used));
    body = larger;
  }
  used += encoder.encodeInto(text, body.subarray(used)).written;
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const done = await new Deno.Command(command, { args: [...args], stdin: "null" }).output();
  return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
}

async function write(path: string, content: string): Promise<string> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, content);
  return "written";
}

async function execute(name: string, args: Record<string, string>): Promise<string> {
  const { path = "", command = "", pattern = "", content = "" } = args;
  if (name === "read_file") return await Deno.readTextFile(path);
  if (name === "write_file") return await write(path, content);
  if (name === "edit_file") {
    const { old_string: old = "", new_string: text = "" } = args;
    return await write(path, (await Deno.readTextFile(path)).replace(old, () => text));
  }
  if (name === "bash") return await run("/bin/sh", ["-c", command]);
  if (name === "grep") return await run("rg", ["-n", pattern, "."]);
  if (name === "glob") return await run("rg", ["--files", "-g", pattern]);
  return `unknown tool ${name}`;
}

/** Reads one streamed answer, printing its text; returns the tool calls. */
async function ask(): Promise<Call[]> {
  append("]}");
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", body: body.subarray(0, used), headers });
  used -= 2;
  const calls: Call[] = [];
  let text = "";
  let rest = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    let shown = "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const delta: Delta = JSON.parse(line.slice(6)).choices[0]?.delta ?? {};
      shown += delta.content ?? "";
      for (const part of delta.tool_calls ?? []) {
        const call = calls[part.index] ??= { id: part.id ?? "", function: { name: "", arguments: "" } };
        call.function.name += part.function.name ?? "";
        call.function.arguments += part.function.arguments ?? "";
      }
    }
    if (shown !== "") Deno.stdout.writeSync(encoder.encode(shown));
    text += shown;
  }
  const wire = calls.map((call) => ({ ...call, type: "function" }));
  const said = { role: "assistant", content: text, ...(wire.length > 0 ? { tool_calls: wire } : {}) };
  append(`,${JSON.stringify(said)}`);
  return calls;
}

const task = { role: "user", content: Deno.args.join(" ") };
append(`{"model":"mock","stream":true,"messages":[${JSON.stringify(task)}`);
for (let calls = await ask(); calls.length > 0; calls = await ask()) {
  for (const call of calls) {
    const content = await execute(call.function.name, JSON.parse(call.function.arguments));
    append("," + JSON.stringify({ role: "tool", tool_call_id: call.id, content }));
  }
}
