/** The documentation: the program shows it, its links resolve, and its shell lines are executed. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { needs } from "../support/tools.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { shellLines } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("an installed program contains its documentation, and its help names it", async () => {
  await using world = await makeWorld();
  const list = await world.run(["docs"]);
  assertEquals(list.code, 0, list.stderr);
  assertMatch(list.stdout, /^ {2}start +Getting started$/m);
  assertMatch(list.stdout, /^ {2}config +Configuration$/m);
  const page = await world.run(["docs", "config.md"]);
  assertMatch(page.stdout, /^# Configuration\n/);
  assertStringIncludes(page.stdout, "default_model");
  assertMatch((await world.run(["docs", "docs/providers/ollama.md"])).stdout, /^# Ollama/);
  assertMatch((await world.run(["docs", "plugins/web"])).stdout, /^# The plugin web/);
  const typo = await world.run(["docs", "trobleshooting"]);
  assertEquals([typo.code, typo.stdout], [2, ""]);
  assertStringIncludes(typo.stderr, "did you mean troubleshooting? reasonix docs lists them");
  assertStringIncludes((await world.run(["--help"])).stdout, "Documentation: reasonix docs");
  assertEquals((await world.run(["setup", "--yes"])).code, 0);
  assertStringIncludes(await Deno.readTextFile(`${world.home}/config.toml`), "reasonix docs config");
});

async function markdownFiles(): Promise<string[]> {
  const top = ["README.md", "README.zh-CN.md", "AGENTS.md", "CHANGELOG.md"];
  const found: string[] = [];
  for (
    const directory of ["docs", "docs/adr", "docs/batch", "docs/extending", "docs/plugins", "docs/providers"]
  ) {
    for await (const { name } of Deno.readDir(new URL(directory, ROOT))) {
      if (name.endsWith(".md")) found.push(`${directory}/${name}`);
    }
  }
  return [...top, ...found.sort()];
}

/** Anchor of a heading as the usual viewers make it. */
function anchor(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

/** Targets of the links of a page, code left out. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^(`{3,}).*?^\1/gms, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

Deno.test("every link of the documentation resolves, and every page is linked from another", async () => {
  const linked = new Set<string>();
  for (const page of await markdownFiles()) {
    for (const target of linksOf(await Deno.readTextFile(new URL(page, ROOT)))) {
      const url = new URL(target, new URL(page, ROOT));
      const [path, hash] = [url.pathname, decodeURIComponent(url.hash.slice(1))];
      const info = await Deno.stat(path).catch(() => undefined);
      assert(info !== undefined, `${page}: ${target} leads nowhere`);
      if (path !== new URL(page, ROOT).pathname) linked.add(path);
      if (info.isDirectory) { for (const { name } of Deno.readDirSync(path)) linked.add(`${path}${name}`); }
      if (hash === "" || !path.endsWith(".md")) continue;
      const headings = (await Deno.readTextFile(path)).matchAll(/^#+ (.+)$/gm);
      assert(
        [...headings].some(([, text = ""]) => anchor(text) === hash),
        `${page}: no heading for ${target}`,
      );
    }
  }
  const alone = (await markdownFiles()).filter((page) => !linked.has(new URL(page, ROOT).pathname));
  assertEquals(alone, []);
});

Deno.test("both front pages link the same pages", async () => {
  const pages = async (name: string) =>
    [...new Set(linksOf(await Deno.readTextFile(new URL(name, ROOT))))]
      .filter((target) => target.startsWith("docs/")).sort();
  assertEquals(await pages("README.zh-CN.md"), await pages("README.md"));
});

/** Pages whose shell lines a reader types one after the other. */
const TYPED = ["README.md", "docs/start.md", "docs/ci.md", "docs/update.md"];

/** Lines that are not run here, by prefix, with the test that runs them or the reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "npx -y deno@2.9.6 task demo": "demo_test.ts, started by this Deno instead of npx",
  "npx -y deno@2.9.6 task test": "what runs this test",
  "deno install -g ": "install_test.ts",
  "deno run -A ": "install_test.ts",
  "npx -y deno@2.9.6 run -A ": "install_test.ts",
  "npx -y deno@2.9.6 run --quiet --v8-flags=--max-semi-space-size=1 --allow-read ": "install_test.ts",
  "npx -y deno@2.9.6 task npm ": "npm_test.ts",
  "deno run -A https://example.org/install.js": "install_js_test.ts",
  "deno run -A dist/install.js": "install_js_test.ts, from a server",
  "npx -y deno@2.9.6 run -A https://example.org/install.js": "install_js_test.ts",
  "reasonix uninstall": "install_test.ts",
  "reasonix update": "update_test.ts",
  "reasonix setup": "setup_test.ts, in a terminal",
  "reasonix review": "review_test.ts",
  "reasonix run --tasks ": "batch_test.ts",
  "reasonix --tui": "full_screen_test.ts, in a terminal",
  "reasonix web": "web_test.ts; it serves until a signal",
  "reasonix run --model openrouter/": "schema_test.ts; asks a vendor",
};

/** The other lines, unchanged or with values filled in. */
const FILLED: Readonly<Record<string, string>> = {
  "reasonix run --output-format json --max-steps 20 …":
    'reasonix run --output-format json --max-steps 20 "look"',
  "reasonix run --json-schema answer.json …": 'reasonix run --json-schema answer.json "look"',
  "export ANTHROPIC_API_KEY=sk-ant-…": "export ANTHROPIC_API_KEY=sk-ant-0",
  "cd my-project": "cd .",
};

/** Lines whose exit code is a separate answer; the chat finds no user here. */
const CODES: Readonly<Record<string, number>> = {
  "reasonix permissions check 'cd x && git push -f'": 3,
  "reasonix": 2,
};

const LINE_MS = 120_000;

const isElsewhere = (line: string) => Object.keys(ELSEWHERE).some((start) => line.startsWith(start));

/** A shell in a project with history, with `reasonix` in PATH. */
async function runLines(world: World, lines: readonly string[]): Promise<void> {
  const home = world.dir.replace(/\/[^/]*$/, "");
  const bin = `${home}/bin`;
  await Deno.mkdir(bin);
  await Deno.rename(world.home, `${home}/.reasonix`);
  const words = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", await programFile()];
  await Deno.writeTextFile(`${bin}/reasonix`, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  const sh = async (line: string) => {
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: ["-c", line],
      cwd: world.dir,
      env: {
        HOME: home,
        PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
        NO_COLOR: "1",
      },
      stdin: "null",
      // A line that never ends fails.
      signal: AbortSignal.timeout(LINE_MS),
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, CODES[line] ?? 0, `${line}\n${text}`);
  };
  const git = "git -c user.name=t -c user.email=t@example.org";
  await sh(`git init -q && mkdir src && echo one > src/wrap.ts && git add . && ${git} commit -qm one`);
  await sh("echo two > src/wrap.ts");
  for (const line of lines) await sh(line);
}

const jq = await new Deno.Command("jq", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);

const bwrap = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].some((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

Deno.test({
  // Without a jail `doctor` finds a problem.
  ...needs("bwrap", bwrap, "the shell lines of the front page and of the pages to begin with are run"),
  fn: async () => {
    const lines = (await Promise.all(TYPED.map((page) => shellLines(page)))).flat();
    for (const start of Object.keys(ELSEWHERE)) {
      assert(lines.some((line) => line.startsWith(start)), `${start} is in no page any more`);
    }
    const mine = lines.filter((line) => !isElsewhere(line)).map((line) => FILLED[line] ?? line)
      .filter((line) => jq || !line.includes("| jq"));
    const open = mine.filter((line) => /…(?!")/.test(line));
    assertEquals(open, [], "what replaces the dots?");
    await using server = startModelServer(
      Array.from({ length: 20 }, () => ({ text: '{"answer": "Done."}' })),
      {
        check: { prefix: false },
        models: ["mock-1"],
      },
    );
    await using world = await makeWorld(mockConfig(server.url));
    await world.write("answer.json", '{"type": "object", "required": ["answer"]}');
    await runLines(world, mine);
  },
});
