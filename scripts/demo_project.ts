/** The demo's broken project in a temporary directory. */
import { TEST_COMMAND } from "../demo/replies.ts";
import { START_FLAGS } from "../cli/terminal/start_flags.ts";

const ROOT = new URL("..", import.meta.url).pathname;

/** The task of the agent in the demo. */
export const DEMO_TASK =
  "The tests of this project fail. Find out why, fix the code (not the tests), and run the tests again.";

export const CASSETTE = `${ROOT}demo/cassette.jsonl`;

export interface DemoProject extends AsyncDisposable {
  /** Temporary directory with everything below. */
  readonly temp: string;
  readonly project: string;
  /** Reasonix home of the demo, with a config.toml. */
  readonly home: string;
}

/** The project with a provider that plays the scripted replies. */
export function makeScriptedDemo(): Promise<DemoProject> {
  return makeDemoProject(`kind = "replay"\nmodel = "scripted"\ncassette = ${JSON.stringify(CASSETTE)}`);
}

/**
 * Copies the project to a temporary directory and writes a configuration with this provider entry, in which
 * the project's tests verify what was changed.
 */
export async function makeDemoProject(provider: string): Promise<DemoProject> {
  const temp = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-demo-" }));
  const [project, home] = [`${temp}/project`, `${temp}/home`];
  await copyDirectory(`${ROOT}demo/project`, project);
  await Deno.mkdir(home);
  await Deno.writeTextFile(
    `${home}/config.toml`,
    `default_model = "demo"\n\n[[providers]]\nname = "demo"\n${provider}\n\n` +
      `[workflow]\nverify_commands = { "*.ts" = ["${TEST_COMMAND}"] }\n`,
  );
  return { temp, project, home, [Symbol.asyncDispose]: () => Deno.remove(temp, { recursive: true }) };
}

async function copyDirectory(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    if (entry.isDirectory) await copyDirectory(`${from}/${entry.name}`, `${to}/${entry.name}`);
    else await Deno.copyFile(`${from}/${entry.name}`, `${to}/${entry.name}`);
  }
}

/** Arguments of deno that start the program from its sources. */
export const PROGRAM = ["run", ...START_FLAGS, "--config", `${ROOT}deno.json`, `${ROOT}cli/main.ts`];
