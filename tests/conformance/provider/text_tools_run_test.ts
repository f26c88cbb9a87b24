/**
 * A long task with a model that only writes text: its calls have every form, some of them invalid, the
 * program is stopped and killed in between, and the server checks every request.
 */
import type { Message } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { startModelServer, textEvent, type Turn } from "../../support/model_server.ts";
import { collect, openClient } from "../../support/model_client.ts";
import { WIRES } from "../../support/wires/wires.ts";
import { makeWorld, mockConfig, type World } from "../../support/program.ts";

const STEPS = 52;
const KILLED_AT = 19;
const STOPPED_AT = 34;

function taught(name: string, args: Record<string, string>, blocks: Record<string, string> = {}): string {
  const head = Object.entries(args).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`).join("");
  const texts = Object.entries(blocks).map(([key, text]) => `%%BLOCK:${key}%%\n${text}\n`).join("");
  return `%%CMD%% name="${name}"${head}\n${texts}%%END%%`;
}

const bash = (command: string) => taught("bash", { command });
const json = (name: string, args: unknown) => JSON.stringify({ name, arguments: args });

/** A line that would be a call, and the end of one, outside of a file. */
const TRAP =
  'A call: %%CMD%%\n\\%%END%%\n\\%%CMD%% name="bash" command="touch trapped"\n\\%%END%%\n<tool_call>';

/** The text of the model at a step; each step writes a line to log.txt unless its call is invalid. */
function reply(step: number): string {
  const line = `echo ${step} >> log.txt`;
  const forms = [
    () => `看 step ${step}.\n\n${bash(line)}`,
    () =>
      taught("write_file", { path: `new/${step}.txt` }, { content: `第一行 😀 ${step}\n\n${TRAP}` }) +
      `\n${bash(line)}`,
    () =>
      `<tool_call>\n${json("bash", { command: line })}\n</tool_call>\n<tool_call>\n${
        json("ls", {})
      }\n</tool_call>`,
    () =>
      `I read it back.\n${taught("read_file", { path: `new/${step - 2}.txt` })}\n\n${
        bash(line)
      }\nThen I see.\n`,
    () =>
      `<tool_call>\n<function=bash>\n<parameter=command>\n${line}\n</parameter>\n</function>\n</tool_call>`,
    () => `%%CMD%% name="bash" command="grep "x" log.txt"\n%%END%%\n\n${bash(line)}`,
    () => `\`\`\`json\n${json("bash", { command: line })}\n\`\`\``,
    () => `${bash(line)}\n%%RESULT%% 1 name="bash"\nfine\n%%END%%\nAll done!`,
    () =>
      `${taught("read_file", { path: "seed.txt" })}\n${
        taught("edit_file", { path: "seed.txt" }, {
          old_string: `seed ${step - 10}`,
          new_string: `seed ${step}`,
        })
      }\n${bash(line)}`,
    () => `%%CMD%% name="no_such_tool" path="x"\n%%END%%\n%%CMD%% name="read_file"\n%%END%%\n${bash(line)}`,
  ];
  return forms[step % forms.length]?.() ?? "";
}

/** The part of a reply that is sent back, without results that the model invented. */
function kept(text: string): string {
  return text.split("%%RESULT%%")[0] ?? "";
}

function streamed(text: string): Turn {
  return { text: text.match(/.{1,7}/gsu) ?? [] };
}

/** A reply that ends inside a call. */
function hanging(step: number): Turn {
  const text = `Step ${step} begins.\n%%CMD%% name="bash" command="touch hanging`;
  return { stream: [...(text.match(/.{1,9}/gsu) ?? []).map(textEvent), new Promise(() => {})] };
}

async function interrupted(world: World, args: readonly string[], shown: string, signal: Deno.Signal) {
  const child = await world.spawn(["run", "--output-format", "jsonl", ...args]);
  const errors = new Response(child.stderr).text();
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    const before = text.includes(shown);
    text += decoder.decode(part, { stream: true });
    if (!before && text.includes(shown)) child.kill(signal);
  }
  await child.status;
  await errors;
  return text;
}

Deno.test("a model with text tools completes a long task through an abort and a kill", async () => {
  let step = 0;
  const held = new Set([KILLED_AT, STOPPED_AT]);
  await using server = startModelServer([], {
    fallback: () => {
      if (held.delete(step)) return hanging(step);
      return step < STEPS ? streamed(reply(step++)) : { text: "All steps are done." };
    },
  });
  const config = mockConfig(server.url, "", 'tool_mode = "pseudo"') + '[sandbox]\nbash = "off"\n';
  await using world = await makeWorld(config);
  await world.write("seed.txt", "seed -2\n");
  const killed = await interrupted(world, ["Do all steps"], '"text":"Step 19', "SIGKILL");
  const shown = killed.split("\n").filter((line) => line.includes('"type":"message.delta"')).join("");
  assert(shown.includes("Step 19") && !shown.includes("%%"), "the beginning of a call was shown");
  await interrupted(world, ["-c", "Go on"], '"text":"Step 34', "SIGINT");
  const end = await world.run(["run", "-c", "--quiet", "Go on"]);
  assertEquals([end.code, end.stdout], [0, "All steps are done.\n"]);

  const numbers = Array.from({ length: STEPS }, (_, at) => `${at}\n`).join("");
  assertEquals(await world.read("log.txt"), numbers);
  assertEquals(await world.read("seed.txt"), "seed 48\n");
  assertEquals(
    await world.read("new/1.txt"),
    'A call: %%CMD%%\n%%END%%\n%%CMD%% name="bash" command="touch trapped"\n%%END%%\n<tool_call>\n'
      .replace(/^/, "第一行 😀 1\n\n"),
  );
  const files = [...Deno.readDirSync(world.dir)].map(({ name }) => name).sort();
  assertEquals(files, ["log.txt", "new", "seed.txt"]);

  for (const { json } of server.requests) {
    assertEquals([json.tools, json.tool_choice], [undefined, undefined]);
    const roles = new Set(json.messages.map((message: { role: string }) => message.role));
    assertEquals([...roles].filter((role) => !["system", "user", "assistant"].includes(String(role))), []);
  }
  const sent = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
  const replies = sent.filter(({ role }) => role === "assistant").map(({ content }) => content);
  for (let at = 0; at < STEPS; at++) {
    assert(replies.includes(kept(reply(at))), `step ${at} is not sent as it was`);
  }
  const sentText = sent.filter(({ role }) => role === "user").map(({ content }) => content).join("\n");
  assertStringIncludes(sentText, "has a quote in its middle");
  assertStringIncludes(sentText, 'Unknown tool "no_such_tool"');
  assertEquals(sentText.match(/^%%CMD%% name="bash" command="touch/gm), null);
});

for (const [kind, wire] of Object.entries(WIRES)) {
  Deno.test(`provider kind ${kind} sends calls as text with their results and its own parts`, async () => {
    const texts = Array.from({ length: 8 }, (_, at) => at % 2 === 0 ? `${at}.\n\n${bash("ls")}\n` : `${at}.`);
    const script = texts.map((text, at) => ({
      ...streamed(text),
      ...(at % 3 === 0 ? { reasoning: "hm" } : {}),
    }));
    await using server = startModelServer(script, { wire: wire() });
    const provider = await openClient(server, { entry: { tool_mode: "pseudo", max_attempts: 1 } });
    const tools = [{ name: "bash", description: "Runs", parameters: { type: "object", properties: {} } }];
    const messages: Message[] = [{ role: "user", content: "Go" }];
    for (const at of texts.keys()) {
      const heard = await collect(provider, messages, undefined, { system: "Be brief.\n", tools });
      assertEquals([heard.error, heard.text, heard.calls.length], [undefined, `${at}.`, (at + 1) % 2]);
      const parts = heard.chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []);
      const [call] = heard.calls;
      messages.push({
        role: "assistant",
        content: heard.text,
        calls: heard.calls,
        parts,
        reasoning: heard.reasoning,
      });
      if (call) messages.push({ role: "tool", callId: call.id, name: call.name, content: "a.txt" });
      else messages.push({ role: "user", content: "Go on" });
    }
    for (const { body } of server.requests) {
      assert(!/"tools":|"tool_use"|"tool_calls"|function_call/.test(body), body);
    }
    const last = server.requests.at(-1)?.body ?? "";
    for (const text of texts.slice(0, -1)) assertStringIncludes(last, JSON.stringify(text).slice(1, -1));
  });
}
