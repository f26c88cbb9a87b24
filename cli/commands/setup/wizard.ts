import { cancel, intro, isCancel, outro, password, select, text } from "@clack/prompts";
import {
  modelsOf,
  type ProviderEntry,
  readDefaultProviders,
  setConfigValue,
} from "../../../src/config/mod.ts";
import { VENDORS } from "./vendors.ts";

/** The answers that the wizard collected. */
export interface SetupAnswers {
  readonly name: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly keyName: string;
  readonly key: string;
}

class Cancelled extends Error {}

function answered(value: string | symbol): string {
  if (isCancel(value) || typeof value === "symbol") throw new Cancelled();
  return value;
}

/** Asks for provider, model and key. Undefined when the user gives up. */
export async function askSetup(): Promise<SetupAnswers | undefined> {
  intro("Reasonix setup");
  try {
    const name = answered(
      await select({
        message: "Which provider?",
        options: [...VENDORS.map((vendor) => ({ value: vendor.name, label: vendor.label })), {
          value: "custom",
          label: "Another OpenAI-compatible server",
        }],
      }),
    );
    const vendor = VENDORS.find((candidate) => candidate.name === name);
    const baseUrl = answered(
      await text({
        message: "Address of the API",
        initialValue: vendor?.baseUrl ?? "http://127.0.0.1:8080/v1",
        validate: (value) =>
          URL.canParse(value ?? "") ? undefined : "Give an address such as https://example.com/v1",
      }),
    );
    const model = answered(
      await text({
        message: "Model",
        initialValue: vendor?.model ?? "",
        validate: (value) => value?.trim() ? undefined : "Name a model",
      }),
    );
    const keyName = vendor ? vendor.keyName : "CUSTOM_API_KEY";
    const key = keyName === ""
      ? ""
      : answered(await password({ message: `Key (saved as ${keyName}; empty = none)` }));
    outro("Thank you");
    return { name, baseUrl, model, keyName: key === "" && !vendor ? "" : keyName, key };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel("Cancelled");
    return undefined;
  }
}

/** Puts the answers into a freshly written configuration and the key file. */
export async function applySetup(file: string, envFile: string, answers: SetupAnswers): Promise<void> {
  const { name, model } = answers;
  const builtIn = builtInProvider(answers);
  if (builtIn) {
    // The entry that the default file has for this vendor knows more than was asked for.
    const models = modelsOf(builtIn);
    if (!models.includes(model)) await setConfigValue(file, `providers.${name}.models`, [...models, model]);
    await setConfigValue(file, `providers.${name}.default`, model);
  } else {
    const entry = {
      name,
      kind: "openai",
      base_url: answers.baseUrl,
      model,
      ...(answers.keyName === "" ? {} : { api_key_env: answers.keyName }),
    };
    await setConfigValue(file, "providers", [entry]);
  }
  await setConfigValue(file, "default_model", name);
  if (answers.key !== "") saveKey(envFile, `${answers.keyName}=${answers.key}\n`);
}

function builtInProvider({ name, baseUrl, keyName }: SetupAnswers): ProviderEntry | undefined {
  return readDefaultProviders().find((entry) =>
    entry.name === name && entry.base_url === baseUrl && entry.api_key_env === keyName
  );
}

function saveKey(file: string, line: string): void {
  Deno.mkdirSync(file.replace(/[/\\][^/\\]*$/, ""), { recursive: true, mode: 0o700 });
  const before = readIfThere(file);
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  Deno.writeTextFileSync(file, gap + line, { append: true, mode: 0o600 });
}

function readIfThere(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
