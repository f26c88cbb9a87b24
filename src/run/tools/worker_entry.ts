/** Entry of the worker processes when the program runs from its sources. */
import { runWorker } from "./worker.ts";

await runWorker(Deno.args);
