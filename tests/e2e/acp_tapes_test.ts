/** Clients as they are: their tapes are played again, and the program answers as it did. */
import { compareTape, Names, readTape, replay } from "../support/acp_tape.ts";
import { makeWorld } from "../support/program.ts";
import { acpxConfig, startAcpxModel } from "../support/record_acpx.ts";

Deno.test("acpx prompts, lists sessions, cancels, and sets mode and model unchanged", async () => {
  await using server = startAcpxModel();
  await using world = await makeWorld(acpxConfig(server));
  const names = new Names(world);
  await compareTape("acpx", await replay(world, await readTape("acpx"), names), names);
});
