import {
  configuredCommands,
  detectCommands,
  filesFor,
} from "../../../../src/features/verify/verify_commands.ts";
import { relatedCommand } from "../../../../src/features/verify/verifier.ts";
import { assertEquals } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

async function inProject(
  files: Readonly<Record<string, string>>,
  work: (cwd: string) => Promise<void> | void,
): Promise<void> {
  await using temp = await makeTempDir();
  for (const [name, text] of Object.entries(files)) {
    const path = `${temp.path}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  await work(temp.path);
}

const SCRIPTS = JSON.stringify({
  scripts: { pretest: "gen", test: "vitest", lint: "eslint .", typecheck: "tsc", start: "x" },
});

const DETECTED: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
  ["nothing", {}, []],
  ["broken files", { "deno.json": "{", "package.json": "[]", "pyproject.toml": "\0" }, []],
  [
    "deno",
    {
      "deno.jsonc": '{ // tasks\n "tasks": { "test": { "command": "deno test" }, "check": "deno check", }, }',
    },
    ["deno task check", "deno task test"],
  ],
  ["a deno project without tasks", { "deno.json": "{}" }, []],
  ["npm", { "package.json": SCRIPTS }, ["npm run lint", "npm run typecheck", "npm test"]],
  ["pnpm", { "package.json": SCRIPTS, "pnpm-lock.yaml": "" }, [
    "pnpm run lint",
    "pnpm run typecheck",
    "pnpm run test",
  ]],
  ["yarn", { "package.json": '{"scripts":{"test":"jest"}}', "yarn.lock": "" }, ["yarn run test"]],
  ["bun", { "package.json": '{"scripts":{"test":"bun test"}}', "bun.lock": "" }, ["bun run test"]],
  ["a script that watches", { "package.json": '{"scripts":{"test":"react-scripts test"}}' }, [
    "npm test -- --watchAll=false",
  ]],
  ["what npm init writes", {
    "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
  }, []],
  ["cargo", { "Cargo.toml": "" }, ["cargo test"]],
  ["go", { "go.mod": "module x" }, ["go vet ./...", "go test ./..."]],
  ["python", { "pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n" }, ["ruff check .", "pytest"]],
  ["python without tests", { "pyproject.toml": "[project]\n" }, []],
  ["make", { Makefile: "all: test\nlint:\n\ttrue\ntest: all\n\ttrue\n" }, ["make lint", "make test"]],
  ["make with a variable", { Makefile: "test := 1\n" }, []],
  ["make next to go", { Makefile: "test:\n", "go.mod": "" }, ["go vet ./...", "go test ./..."]],
];

for (const [name, files, lines] of DETECTED) {
  Deno.test(`detectCommands finds test commands: ${name}`, async () => {
    await inProject(files, async (cwd) => {
      assertEquals((await detectCommands(cwd)).map(({ line }) => line), lines);
    });
  });
}

Deno.test("a detected script includes its pre and post scripts", async () => {
  await inProject({ "package.json": SCRIPTS }, async (cwd) => {
    const [, , test] = await detectCommands(cwd);
    assertEquals(test?.defined, { file: "package.json", text: "vitest\ngen" });
  });
});

const GLOBS: readonly (readonly [glob: string, path: string, asks: boolean])[] = [
  ["*.ts", "a.ts", true],
  ["*.ts", "src/deep/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["*.{ts,tsx}", "src/a.tsx", true],
  ["src/**", "src/a/b.c", true],
  ["src/*.ts", "src/a/b.ts", false],
  ["/a.ts", "src/a.ts", false],
  ["/a.ts", "a.ts", true],
  ["*", "读我.md", true],
  ["*.ts", "/elsewhere/a.ts", true],
];

for (const [glob, path, asks] of GLOBS) {
  Deno.test(`${glob} ${asks ? "matches" : "does not match"} ${path}`, () => {
    assertEquals(filesFor({ globs: [glob] }, [path]).length > 0, asks);
  });
}

Deno.test("commands are listed once each, lint commands first", () => {
  const commands = configuredCommands({
    verify_commands: { "*.ts": ["t", "u"], "*.js": ["t", " "], "*": [] },
    lint_commands: { "*.ts": ["l"] },
  });
  assertEquals(commands.map(({ kind, line, globs }) => [kind, line, globs]), [
    ["lint", "l", ["*.ts"]],
    ["test", "t", ["*.ts", "*.js"]],
    ["test", "u", ["*.ts"]],
  ]);
});

Deno.test("text files trigger no command that a project defines", () => {
  const defined = { file: "Makefile", text: "" };
  assertEquals(filesFor({ globs: ["*"], defined }, ["README.md", "a.c", "notes.txt"]), ["a.c"]);
});

const TREE = {
  "src/a/b.ts": "",
  "src/a/b_test.ts": "",
  "tests/unit/a/b.test.ts": "",
  "lib/c.ts": "",
  "pkg/m.py": "",
  "tests/test_m.py": "",
  "crates/one/Cargo.toml": '[package]\nname = "one-x"\n',
  "crates/one/src/lib.rs": "",
  "src/main.rs": "",
  "x/y/z.go": "",
  "main.go": "",
  "a b.ts": "",
  "--fix.ts": "",
};

const RELATED: readonly (readonly [line: string, files: readonly string[], narrowed: string | undefined])[] =
  [
    ["deno test", ["src/a/b.ts"], "deno test src/a/b_test.ts tests/unit/a/b.test.ts"],
    ["deno test -A --parallel", ["src/a/b_test.ts"], "deno test -A --parallel src/a/b_test.ts"],
    ["deno test", ["lib/c.ts"], undefined],
    ["deno test tests/unit", ["src/a/b.ts"], undefined],
    ["deno test && true", ["src/a/b.ts"], undefined],
    ["pytest -q", ["pkg/m.py"], "pytest -q tests/test_m.py"],
    ["vitest run", ["lib/c.ts"], "npx vitest related --run lib/c.ts"],
    ["npx jest", ["lib/c.ts"], "npx jest --passWithNoTests --findRelatedTests lib/c.ts"],
    ["cargo test", ["crates/one/src/lib.rs"], "cargo test -p one-x"],
    ["cargo test", ["crates/one/src/lib.rs", "src/main.rs"], undefined],
    ["go test ./...", ["x/y/z.go"], "go test ./x/y"],
    ["go test ./...", ["x/y/z.go", "main.go"], "go test . ./x/y"],
    ["go vet ./...", ["x/y/z.go"], "go vet ./x/y"],
    ["go test ./...", ["gone.go"], undefined],
    ["make test", ["main.go"], undefined],
    ["deno test", ["a b.ts", "--fix.ts", "/elsewhere/a_test.ts"], undefined],
  ];

for (const [line, files, narrowed] of RELATED) {
  Deno.test(`${line} for ${files.join(", ")} is narrowed to ${narrowed ?? "the whole"}`, async () => {
    await inProject(TREE, (cwd) => assertEquals(relatedCommand({ line }, files, cwd), narrowed));
  });
}

Deno.test("a script of the project is resolved to its runner", async () => {
  await inProject(TREE, (cwd) => {
    const related = (line: string, text: string) =>
      relatedCommand({ line, defined: { file: "x", text } }, ["lib/c.ts"], cwd);
    assertEquals(related("npm test", "vitest run"), "npx vitest related --run lib/c.ts");
    assertEquals(related("npm test", "vitest run\ngen"), undefined);
    assertEquals(related("deno task test", '{"command":"deno test"}'), undefined);
  });
});
