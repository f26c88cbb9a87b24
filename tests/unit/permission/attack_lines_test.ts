import { PROGRAM_ATTACKS, SHELL_ATTACKS } from "../../conformance/sandbox/attacks.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";

const WRITING = [...SHELL_ATTACKS, ...PROGRAM_ATTACKS].filter(({ writes }) => writes)
  .map(({ calls }) => (calls.at(-1)?.args as { readonly command: string }).command);

Deno.test("no line that changes an outside file is classified as read-only", async () => {
  const { gate } = scene("/w/ws", {}, { permissionMode: "read-only", onAsk: "deny" });
  assert(WRITING.length >= 50, String(WRITING.length));
  const allowed: string[] = [];
  for (const line of WRITING) {
    if ((await gate.explain(bash(line))).decision === "allow") allowed.push(line);
  }
  assertEquals(allowed, []);
});
