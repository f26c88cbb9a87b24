/**
 * The contract of providers, run for each kind of the list. A kind with an HTTP API has a line in
 * tests/support/wires/wires.ts, others have an entry in `HARNESSES`.
 */
import { assert } from "../../support/assert.ts";
import { createProvider } from "../../../src/provider/mod.ts";
import { PROVIDER_KINDS } from "../../../src/provider/kinds.ts";
import { fakeLlama } from "../../support/fake_llama.ts";
import { InstantClock, openClient, providerEntry } from "../../support/model_client.ts";
import { startModelServer, type Turn } from "../../support/model_server.ts";
import { type ContractCase, type ContractTurn, PROVIDER_CONTRACT } from "../../support/provider_contract.ts";
import { OPENAI_WIRE } from "../../support/wires/openai.ts";
import type { ScriptedWire } from "../../support/wires/scripted_wire.ts";
import { WIRES } from "../../support/wires/wires.ts";
import { removeTree } from "../../support/remove_tree.ts";

type Harness = (one: ContractCase) => Promise<void>;

const HARNESSES: Readonly<Record<string, Harness>> = {
  // Its server passes on what the scripted one says.
  llamacpp: async (one) => {
    const directory = await Deno.makeTempDir();
    await using server = startModelServer(one.turns.map((turn) => scripted(turn)));
    const { binary, model } = fakeLlama(directory, { upstream: server.url });
    const entry = { kind: "llamacpp", base_url: "", server: { binary, model_path: model } };
    const values = { home: `${directory}/home` };
    const provider = await openClient(server, { clock: new InstantClock(), entry, values });
    // A request would report a slow start with notices.
    await provider.askWindow?.();
    await one.run(provider);
    await removeTree(directory);
  },
  // A recording has to keep the promises like the provider it was made from.
  replay: async (one) => {
    const cassette = await Deno.makeTempFile({ suffix: ".jsonl" });
    try {
      await overWire(one, OPENAI_WIRE, { record: { file: cassette } });
      const entry = providerEntry({ kind: "replay", cassette });
      await one.run(await createProvider({ entry, model: "m", version: "1" }));
    } finally {
      await Deno.remove(cassette);
    }
  },
};

/** Runs a case against a scripted server of a wire. */
async function overWire(one: ContractCase, wire: ScriptedWire, options = {}): Promise<void> {
  await using server = startModelServer(one.turns.map((turn) => scripted(turn)), { wire });
  await one.run(await openClient(server, { clock: new InstantClock(), ...options }));
}

function scripted({ limited, failure, ...answer }: ContractTurn): Turn {
  if (failure === "refused") return { status: 401, body: { error: { message: "no" } } };
  if (failure === "overloaded") return { status: 503, body: { error: { message: "busy" } } };
  const output = limited ? { ...answer, finish: "length" } : answer;
  return failure === undefined ? output : { ...output, stuck: failure };
}

for (const kind of Object.keys(PROVIDER_KINDS)) {
  const harness = HARNESSES[kind];
  const wire = WIRES[kind];
  for (const one of PROVIDER_CONTRACT) {
    Deno.test(`provider kind ${kind} ${one.name}`, async () => {
      assert(wire || harness, `Neither WIRES nor HARNESSES has kind ${kind}`);
      await (wire ? overWire(one, wire()) : harness?.(one));
    });
  }
}
