import { errorMessage } from "../../../src/core/mod.ts";
import { assert } from "../../support/assert.ts";
import { SEED, soakSize } from "../../support/seed.ts";
import { liveThrough } from "./order_stage.ts";

const ORDERS = soakSize(500, 60);
const PART = soakSize(50, 30);

for (let first = 1; first <= ORDERS; first += PART) {
  Deno.test({
    name: `whatever the order of events, nothing is lost, doubled or illegal: orders ${first} to ${
      first + PART - 1
    }`,
    // Files and timers of a killed process end a little later.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      let calls = 0;
      for (let order = first; order < first + PART; order += 1) {
        try {
          calls += (await liveThrough(SEED + order)).calls;
        } catch (error) {
          throw new Error(`REASONIX_SEED=${SEED}, order ${order}: ${errorMessage(error)}`, { cause: error });
        }
      }
      assert(calls > PART, `only ${calls} calls were executed`);
    },
  });
}
