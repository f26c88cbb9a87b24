/** Entry of the search process when the program runs from its sources. */
import { runSearchProcess } from "./search_process.ts";

await runSearchProcess({ input: Deno.stdin.readable, write: (bytes) => Deno.stdout.writeSync(bytes) });
