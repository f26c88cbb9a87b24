import { defaultConfigText, loadConfig, requireProvider } from "../../../src/config/mod.ts";
import { VENDORS } from "../../../src/config/vendors.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { table } from "../../../src/reports/table.ts";
import { displayWidth } from "../../../src/util/display_width.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { readTasks } from "../../../src/batch/task_file.ts";
import { addressProblem, entryOf, keyProblem, readTokens } from "../../../cli/setup/target.ts";
import { saveSetup, type SetupAnswers } from "../../../cli/setup/wizard.ts";
import { forReader } from "../../../cli/terminal/narrow.ts";
import { chatCommandsPage, commandsPage, fullScreenPage } from "../../../scripts/gen_commands.ts";

Deno.test("docs/commands.md equals the output of gen_commands", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/commands.md", import.meta.url));
  assertEquals(page, await commandsPage(), "run `deno run -A scripts/gen_commands.ts`");
});

Deno.test("docs/full-screen.md lists all keys of the view", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/full-screen.md", import.meta.url));
  assertEquals(page, await fullScreenPage(page), "run `deno run -A scripts/gen_commands.ts`");
});

Deno.test("docs/commands-chat.md lists all slash commands", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/commands-chat.md", import.meta.url));
  assertEquals(page, await chatCommandsPage(page), "run `deno run -A scripts/gen_commands.ts`");
});

const HELP = `USAGE
  reasonix session list|show|search|rename|export ...

FLAGS
  -h  --help   Print help information and exit
     --mode    What may run [read-only|workspace-write|plan]
`;

Deno.test("forReader continues descriptions under their beginning and breaks lists after their bars", () => {
  assertEquals(forReader(HELP, 34).split("\n"), [
    "USAGE",
    "  reasonix session",
    "    list|show|search|rename|export",
    "    ...",
    "",
    "FLAGS",
    "  -h  --help   Print help",
    "               information and",
    "               exit",
    "     --mode    What may run",
    "               [read-only|",
    "               workspace-write|",
    "               plan]",
    "",
  ]);
});

Deno.test("forReader puts descriptions below names that leave too little width", () => {
  assertEquals(forReader("  --a-very-long-option  说明文字很长，要换行", 24).split("\n"), [
    "  --a-very-long-option",
    "        说明文字很长，要",
    "        换行",
  ]);
});

Deno.test("forReader keeps lines that fit and truncates nothing", () => {
  assertEquals(forReader(HELP, 80), HELP);
  const squeezed = forReader(HELP, 26);
  assertEquals(squeezed.replace(/\s/g, ""), HELP.replace(/\s/g, ""));
  assert(squeezed.split("\n").every((line) => displayWidth(line) <= 26));
});

async function load(variables: Record<string, string> = {}, config?: string) {
  await using directory = await makeTempDir();
  if (config !== undefined) await Deno.writeTextFile(`${directory.path}/config.toml`, config);
  return await loadConfig({ cwd: directory.path, home: directory.path, env: (name) => variables[name] });
}

Deno.test("requireProvider suggests setup without configuration and key, in both languages", async () => {
  const loaded = await load();
  for (
    const [locale, output] of [["en", "No provider is set up yet"], [
      "zh-CN",
      "还没有配置模型供应商",
    ]] as const
  ) {
    const error = await assertRejects(() => requireProvider(loaded, locale), ReasonixError, output);
    assertStringIncludes(error.remedy ?? "", "reasonix setup");
    assertStringIncludes(error.remedy ?? "", "DEEPSEEK_API_KEY");
    assertEquals(error.exit, "config");
  }
});

Deno.test("requireProvider names the environment variable of the key, but not the key", async () => {
  const output = await requireProvider(await load({ OPENAI_API_KEY: "sk-o" }), "en") ?? "";
  assertStringIncludes(output, "using OPENAI_API_KEY from the environment (OpenAI)");
  assert(!output.includes("sk-o"));
});

Deno.test("requireProvider names the setting that keeps a key of the environment from being used", async () => {
  const loaded = await load({ DEEPSEEK_API_KEY: "sk-d" }, "security.env_keys = false\n");
  const error = await assertRejects(() => requireProvider(loaded, "en"), ReasonixError);
  assertStringIncludes(error.remedy ?? "", "security.env_keys");
});

Deno.test("table aligns wide characters, right-aligns numbers and removes control characters", () => {
  const rows = [["日本", "5", "x\u001b[2J\ny"], ["a", "1,000", "z"]];
  assertEquals(
    table(["NAME", "N", "TITLE"], rows, { right: ["N"] }),
    "NAME      N  TITLE\n日本      5  x y\na     1,000  z\n",
  );
});

Deno.test("table truncates lines to the given width", () => {
  assertEquals(table(["A", "B"], [["1", "一二三四五"]], { width: 9 }), "A  B\n1  一二…\n");
});

const read = (...lines: readonly string[]) =>
  readTasks(lines.join("\n"), { file: "tasks.jsonl", cwd: "/" }).map(({ id, prompt }) => [id, prompt]);

Deno.test("a batch line has prompt or task, and its number as the default id", () => {
  const tasks = read(
    '{"task": "one"}',
    "",
    '{"prompt": "two"}',
    '{"id": 7, "task": "three"}',
    '{"id": "x", "prompt": "4"}',
  );
  assertEquals(tasks, [["1", "one"], ["3", "two"], ["7", "three"], ["x", "4"]]);
});

Deno.test("a batch line with both names, an invalid id or a duplicate id is an error", () => {
  const faults: readonly (readonly [lines: readonly string[], problem: string])[] = [
    [
      ['{"task": "a", "prompt": "b"}'],
      "tasks.jsonl:1:2: it has both a prompt and a task, which are the same",
    ],
    [['{"id": null, "task": "a"}'], "tasks.jsonl:1:2: the id is no text of at most 200 characters"],
    [['{"id": "", "task": "a"}'], "tasks.jsonl:1:2: the id is no text of at most 200 characters"],
    [['{"task": 7}'], "tasks.jsonl:1:2: the task is no text"],
    [['{"id": "a"}'], "tasks.jsonl:1:1: the prompt is missing"],
    [
      ['{"id": 2, "task": "a"}', '{"task": "b"}'],
      'tasks.jsonl:2:1: the id "2" is that of line 1 already, and a line without an id has its number',
    ],
  ];
  for (const [lines, problem] of faults) assertThrows(() => read(...lines), Error, problem);
});

const texts = await loadTexts("setup", "en");

const [DEEPSEEK] = VENDORS;
assert(DEEPSEEK);
const CUSTOM = { name: "custom", baseUrl: "http://127.0.0.1:8080/v1", keyName: "" };

function vendorAnswers(model: string): SetupAnswers {
  assert(DEEPSEEK);
  const target = { ...DEEPSEEK, vendor: DEEPSEEK };
  return { entry: entryOf(target, { keyName: DEEPSEEK.keyName, model, window: 0 }), isDefault: true };
}

function customAnswers(model: string, window = 0, keyName = ""): SetupAnswers {
  return { entry: entryOf(CUSTOM, { keyName, model, window }), isDefault: false };
}

async function setUp(answers: readonly SetupAnswers[], files: { config?: string; env?: string } = {}) {
  await using directory = await makeTempDir();
  const home = directory.path;
  const file = `${home}/config.toml`;
  if (files.config) await Deno.writeTextFile(file, files.config);
  if (files.env) await Deno.writeTextFile(`${home}/.env`, files.env);
  for (const one of answers) await saveSetup(file, `${home}/.env`, one, texts.header);
  const { config, keys, warnings } = await loadConfig({ cwd: home, home, env: () => undefined });
  assertEquals(warnings, []);
  return { config, saved: keys.saved(), text: await Deno.readTextFile(file) };
}

Deno.test("setup writes a readable file that loads", async () => {
  const { text, config } = await setUp([{ ...customAnswers("m", 32768), isDefault: true }]);
  const [head = "", body = ""] = text.split("\n\n", 1).concat(text.slice(text.indexOf("\n\n") + 2));
  assert(head.split("\n").every((line) => line.startsWith("# ")));
  assertEquals(
    body,
    'default_model = "custom"\n\n[[providers]]\nname = "custom"\nbase_url = "http://127.0.0.1:8080/v1"\n' +
      'model = "m"\ncontext_window = 32768\n',
  );
  assertEquals(config.providers.map(({ name }) => name), ["custom"]);
});

Deno.test("setup keeps the known facts of a vendor for any model", async () => {
  for (const model of ["deepseek-v4-pro", "deepseek-v9"]) {
    const { config } = await setUp([vendorAnswers(model)], { config: await defaultConfigText() });
    const [entry] = config.providers;
    assertEquals([config.default_model, entry?.default], ["deepseek", model]);
    assert(entry?.models?.includes(model));
    assertEquals(entry?.compat.reasoning_field, "reasoning_content");
  }
});

Deno.test("a second setup adds a provider and keeps every other line in place", async () => {
  const config = '# mine\ndefault_model = "x"\n\n[[providers]]\nname = "x" # here\nbase_url = "http://y"\n' +
    'model = "m"\n\n# about tools\n[tools]\nbash_timeout_seconds = 60 # short\n';
  const { text } = await setUp([customAnswers("n")], { config });
  const added = '\n[[providers]]\nname = "custom"\nbase_url = "http://127.0.0.1:8080/v1"\nmodel = "n"\n';
  assertEquals(text, config.replace('model = "m"\n', `model = "m"\n${added}`));
});

Deno.test("a setup with the same name updates its entry and keeps comments and other settings", async () => {
  const config =
    '[[providers]]\nname = "custom" # one\nbase_url = "http://old/v1" # two\nmodels = ["a", "b"]\n' +
    'default = "b"\napi_key_env = "OLD"\ncontext_window = 5\ntemperature = 0.5\n';
  const { text, config: loaded } = await setUp([customAnswers("n", 9)], { config });
  assertEquals(loaded.providers.length, 1);
  const [entry] = loaded.providers;
  assertEquals([entry?.model, entry?.models, entry?.api_key_env], ["n", undefined, ""]);
  assertEquals([entry?.context_window, entry?.temperature], [9, 0.5]);
  for (const comment of ["# one", "# two"]) assertStringIncludes(text, comment);
});

Deno.test("an entry that setup adds is never part of a comment", async () => {
  const { text } = await setUp([customAnswers("n")], { config: await defaultConfigText() });
  const before = text.slice(0, text.indexOf('name = "custom"')).trimEnd().split("\n");
  assertEquals(before.at(-1), "[[providers]]");
  assert(!/^\s*#\s*\[/m.test(text), "no table is commented out");
});

Deno.test("setup replaces an older key and keeps the other lines", async () => {
  const env = "# keys\nDEEPSEEK_API_KEY=old\nOTHER_KEY=one";
  const key = { name: "DEEPSEEK_API_KEY", value: "sk-new#1" };
  const { saved } = await setUp([{ ...vendorAnswers("deepseek-v4-pro"), key }], { env });
  assertEquals([...saved], [["OTHER_KEY", "one"], ["DEEPSEEK_API_KEY", "sk-new#1"]]);
});

Deno.test("keyProblem rejects text that is not a key, and the key of another vendor", () => {
  const wrong: [key: string, vendor: string | undefined, output: string][] = [
    ["https://api.example.com", undefined, "address"],
    ["sk-1234 5678", "openai", "blanks"],
    ['"sk-12345678"', "openai", "quotes"],
    ["OPENAI_API_KEY=sk-12345678", "openai", "text after the ="],
    ["sk-1", "openai", "longer"],
    ["ключ-ключ", "openai", "letters"],
    ["sk-ant-api03-abcdefgh", "openai", "Anthropic"],
    ["gsk_abcdefghijkl", "deepseek", "Groq"],
  ];
  for (const [key, vendor, output] of wrong) {
    assertStringIncludes(keyProblem(key, vendor, texts.wrong) ?? "", output);
  }
  assertEquals(keyProblem("sk-proj-0123456789abcdef", "openai", texts.wrong), undefined);
  assertEquals(keyProblem("sk-ant-api03-abcdefgh", "anthropic", texts.wrong), undefined);
  assertEquals(keyProblem("gsk_abcdefghijkl", undefined, texts.wrong), undefined);
});

Deno.test("addressProblem rejects an address that contains a key or another address", () => {
  for (
    const address of [
      "https://api.deepseek.comsk-1234567890abcdef",
      "https://example.com/v1sk-1234567890abcdef",
      "http://127.0.0.1:8080/v1127.0.0.1:8091/v1",
      "http://a.example/v1http://b.example/v1",
      "https://sk-1234567890abcdef@example.com/v1",
      "api.example.com",
      "localhost:8080",
      "http:example.com",
      "ftp://example.com",
      "",
    ]
  ) assert(addressProblem(address, texts.wrong) !== undefined, address);
  for (
    const address of [
      "https://api.example.com/v1",
      "http://127.0.0.1:8080/v1",
      "http://[::1]:8000/v1",
      "https://helpdesk-internal2024a.example.com/v1",
      "https://gateway.example.com/v1?api-version=2024-10-01",
    ]
  ) assertEquals(addressProblem(address, texts.wrong), undefined, address);
});

Deno.test("readTokens reads numbers in common notations", () => {
  assertEquals(["131072", "128k", "1M", "131,072"].map(readTokens), [131072, 128000, 1_000_000, 131072]);
  assertEquals(["", "many", "1.5", "-3"].map(readTokens), [undefined, undefined, undefined, undefined]);
});
