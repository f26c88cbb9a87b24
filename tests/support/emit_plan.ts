import { type EmitPlan, planOf } from "../../src/batch/emit/plan.ts";
import { readTasks } from "../../src/batch/task_file.ts";
import { configFixture } from "../unit/config/fixture.ts";

export const PROVIDER = `[[providers]]
name = "near"
kind = "openai"
base_url = "https://models.example:8443/v1"
model = "m"
api_key_env = "NEAR_KEY"
`;

export interface Given {
  readonly tasks?: readonly Readonly<Record<string, unknown>>[];
  readonly config?: string;
  readonly variables?: Record<string, string>;
  readonly input?: Partial<Parameters<typeof planOf>[0]>;
}

/** The plan of two tasks in an image, or of what is given. */
export async function planFor(given: Given = {}): Promise<EmitPlan> {
  const { tasks = [{ prompt: "a" }, { prompt: "b" }], config = PROVIDER, variables = {}, input } = given;
  await using fixture = configFixture({ "home/config.toml": config });
  const tasksText = tasks.map((task) => `${JSON.stringify(task)}\n`).join("");
  return planOf({
    tasks: readTasks(tasksText, { file: "tasks.jsonl", cwd: fixture.cwd, elsewhere: true }),
    tasksFile: "tasks.jsonl",
    tasksText,
    resultsDir: "/results",
    maxIndexes: 100_000,
    runFlags: [],
    container: "example/agent:1",
    npmPackage: "NAME@1.2.3",
    loaded: await fixture.load({ variables }),
    ...input,
  });
}
