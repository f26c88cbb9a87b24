/** The time of `repo_map` for this repository: from nothing, in a second process, and after a change. */
import { fileURLToPath } from "node:url";
import { openPlugin } from "../../support/plugin_client.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";

const ROOT = new URL("../../../", import.meta.url);
const DIRECTORIES = ["cli", "demo", "page", "plugins", "scripts", "src", "tests"];
const ROUNDS = 5;
const NOTHING_MS = 4000;
const SECOND_MS = 200;
const CHANGE_MS = 50;
const CHANGED = "src/path/glob.ts";

export async function mapRows(
  { file, scratch, quick }: Pick<Bench, "quick"> & { readonly file: string; readonly scratch: string },
): Promise<Row[]> {
  const workspace = `${scratch}/repository`;
  for (const name of DIRECTORIES) await copy(fileURLToPath(new URL(name, ROOT)), `${workspace}/${name}`);
  const nothing: number[] = [];
  const second: number[] = [];
  const change: number[] = [];
  for (let round = 0; round < (quick ? 2 : ROUNDS); round++) {
    const home = `${scratch}/map-${round}`;
    for (const times of [nothing, second]) {
      const begun = performance.now();
      await using plugin = await openPlugin("map", { file, workspace, home });
      const map = async () => {
        const { isError, content } = await plugin.client.callTool({ name: "repo_map", arguments: {} });
        if (isError) throw new Error(JSON.stringify(content));
      };
      await map();
      times.push(performance.now() - begun);
      if (times === second) continue;
      for (let changes = 0; changes < 3; changes++) {
        await Deno.writeTextFile(`${workspace}/${CHANGED}`, `// ${round} ${changes}\n`, { append: true });
        const changed = performance.now();
        await map();
        if (changes > 0) change.push(performance.now() - changed);
      }
    }
  }
  return [
    row({ figure: "map: this repository from nothing", unit: "ms", reasonix: nothing, target: NOTHING_MS }),
    row({
      figure: "map: this repository in a second process",
      unit: "ms",
      reasonix: second,
      target: SECOND_MS,
    }),
    row({ figure: "map: after a change of one file", unit: "ms", reasonix: change, target: CHANGE_MS }),
  ];
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory && name !== "node_modules") await copy(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
