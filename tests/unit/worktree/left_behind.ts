/** Creates a worktree and waits until it is killed. Arguments: repository, home, id, days to keep. */
import { createWorktree } from "../../../src/worktree/mod.ts";

const [cwd = "", home = "", id = "", days = ""] = Deno.args;
const tree = await createWorktree({ cwd, home, id, ...(days ? { keepDays: Number(days) } : {}) });
await Deno.writeTextFile(`${tree.cwd}/by-the-agent.txt`, "work\n");
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
setInterval(() => {}, 1000);
