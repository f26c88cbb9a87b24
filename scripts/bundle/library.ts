/** Entry of the bundled library, which programs import and worker processes start. */
import { runWorker } from "../../mod.ts";

export * from "../../mod.ts";

if (import.meta.main) await runWorker(Deno.args);
