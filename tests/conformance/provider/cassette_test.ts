/** A cassette of any provider kind and tool mode replays what was recorded. */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Chunk, Message } from "../../../src/core/mod.ts";
import { createProvider, type Provider } from "../../../src/provider/mod.ts";
import {
  collect,
  HELLO,
  InstantClock,
  openClient,
  providerEntry,
  takeStep,
} from "../../support/model_client.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";

const LOOK = {
  name: "look",
  description: "Looks at a file",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const PREFIX = { system: "Be brief", tools: [LOOK] };
const VALUES = { workspace: "/tmp/w 世界" };
const PATH = `${VALUES.workspace}/a 👩‍👩‍👧.ts`;

const CALL = { official: "", pseudo: `%%CMD%% name="look" path="${PATH}"\n%%END%%\n` };

function answers(mode: "official" | "pseudo"): readonly ScriptedAnswer[] {
  const usage = { input: 30, cached: 10, output: 20, reasoning: 5 };
  const calls = [{ id: "toolu_1", name: "look", args: { path: PATH } }];
  return [
    {
      reasoning: `I look at ${PATH}`,
      text: `I look.\n${CALL[mode]}`,
      ...(mode === "official" ? { calls } : {}),
      usage,
    },
    { text: "All well.", usage },
  ];
}

/** Two replies with a call between them. */
async function talk(provider: Provider): Promise<readonly Chunk[]> {
  const messages: Message[] = [...HELLO];
  const { calls, chunks } = await takeStep(provider, messages, { prefix: PREFIX, result: () => "fine" });
  assertEquals(calls.map(({ name }) => name), ["look"]);
  assertEquals(JSON.parse(calls[0]?.arguments ?? ""), { path: PATH });
  const second = await collect(provider, messages, undefined, PREFIX);
  assertEquals([second.error, second.text], [undefined, "All well."]);
  return [...chunks, ...second.chunks];
}

for (const kind of Object.keys(WIRES)) {
  for (const mode of ["official", "pseudo"] as const) {
    Deno.test(`a cassette of kind ${kind} plays what was recorded with tool mode ${mode}`, async () => {
      const file = await Deno.makeTempFile({ suffix: ".jsonl" });
      const wire = WIRES[kind]?.();
      assert(wire);
      try {
        await using server = startModelServer(answers(mode), {
          wire,
          check: { pairing: mode === "official" },
        });
        const live = await talk(
          await openClient(server, {
            entry: { tool_mode: mode },
            clock: new InstantClock(),
            record: { file },
            values: VALUES,
          }),
        );
        if (kind !== "openai" || mode === "pseudo") assert(live.some(({ type }) => type === "part"));
        assert(!(await Deno.readTextFile(file)).includes(VALUES.workspace));
        // The entry may keep its mode: a cassette holds calls as calls.
        for (const tool_mode of [mode, undefined]) {
          const entry = providerEntry({ kind: "replay", cassette: file, tool_mode });
          assertEquals(
            await talk(await createProvider({ entry, model: "m", version: "1", values: VALUES })),
            live,
          );
        }
      } finally {
        await Deno.remove(file);
      }
    });
  }
}
