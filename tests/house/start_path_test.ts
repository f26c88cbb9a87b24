/** The files of the program that execute for the two smallest tasks, by coverage of the real program. */
import { existsSync } from "node:fs";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, mockConfig } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { needs } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url);

interface Task {
  readonly name: string;
  readonly replies: readonly Turn[];
  /** The list may only become shorter. */
  readonly most: number;
}

const TASKS: readonly Task[] = [
  { name: "hi", replies: [{ text: "Hi." }], most: 110 },
  {
    name: "echo",
    replies: [{ calls: [{ name: "bash", args: { command: "echo hello" } }] }, { text: "done" }],
    most: 147,
  },
];

/** Another jail executes other files. */
const hasJail = Deno.build.os === "linux" &&
  (Deno.env.get("PATH") ?? "").split(":").some((dir) => existsSync(`${dir}/bwrap`));

for (const { name, replies, most } of TASKS) {
  const title = `no file outside of the recorded list executes for "${name}"`;
  Deno.test({
    ...needs("bwrap", hasJail, title),
    async fn() {
      const files = await executedFiles(replies);
      const golden = new URL(`../golden/start_path/${name}.txt`, import.meta.url);
      if (Deno.env.get("UPDATE_GOLDEN") === "1") {
        await Deno.writeTextFile(golden, files.map((file) => `${file}\n`).join(""));
      }
      const recorded = (await Deno.readTextFile(golden)).trimEnd().split("\n");
      assertEquals(files.filter((file) => !recorded.includes(file)), []);
      assert(recorded.length <= most, `${recorded.length} files execute for "${name}", at most ${most} may`);
      // An outdated list has no value.
      const unused = recorded.filter((file) => !files.includes(file));
      assert(unused.length <= 5, `files of the list that do not execute:\n${unused.join("\n")}`);
      const features = recorded.filter((file) => file.startsWith("src/features/"));
      assertEquals(features, ["src/features/features.ts"]);
    },
  });
}

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Runs the program with coverage; returns the files of src and cli in which a named function ran. */
async function executedFiles(replies: readonly Turn[]): Promise<string[]> {
  await using temp = await makeTempDir();
  const [dir, home, coverage] = ["work", "home", "coverage"].map((name) => `${temp.path}/${name}`);
  for (const path of [dir, home, coverage]) await Deno.mkdir(path ?? "");
  await using server = startModelServer(replies);
  await Deno.writeTextFile(`${home}/config.toml`, mockConfig(server.url, "", "context_window = 100000"));
  const main = new URL("cli/main.ts", ROOT).pathname;
  const config = new URL("deno.json", ROOT).pathname;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", config, main, "run", "say hi"],
    cwd: dir ?? "",
    env: {
      ...denoDir(),
      HOME: temp.path,
      REASONIX_HOME: home ?? "",
      REASONIX_LANG: "en",
      NO_COLOR: "1",
      DENO_COVERAGE_DIR: coverage ?? "",
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const files = new Set<string>();
  for (const { name } of Deno.readDirSync(coverage ?? "")) {
    if (!name.endsWith(".json")) continue;
    const { url, functions } = JSON.parse(Deno.readTextFileSync(`${coverage}/${name}`)) as Coverage;
    const ran = functions.some(({ functionName, ranges }) =>
      functionName !== "" && (ranges[0]?.count ?? 0) > 0
    );
    if (ran && /^(?:src|cli)\//.test(url.slice(ROOT.href.length)) && url.startsWith(ROOT.href)) {
      files.add(url.slice(ROOT.href.length));
    }
  }
  return [...files].sort();
}
