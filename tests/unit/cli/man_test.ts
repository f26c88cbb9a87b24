import { EVENT_KINDS } from "../../../src/core/event_schema.ts";
import { commandsPage } from "../../../scripts/gen_commands.ts";
import { manPages, markdown } from "../../../scripts/release/man.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { needs } from "../../support/tools.ts";

const hasMandoc = await new Deno.Command("mandoc", { stdin: "null" }).output().then(() => true, () => false);

async function mandoc(args: readonly string[], cwd?: string): Promise<string> {
  const command = new Deno.Command("mandoc", { args: [...args], ...(cwd ? { cwd } : {}), stdin: "null" });
  return new TextDecoder().decode((await command.output()).stdout);
}

/** The page as a terminal of this width shows it, without fonts. */
async function rendered(file: string, width = 80): Promise<string> {
  // deno-lint-ignore no-control-regex
  return (await mandoc(["-Tutf8", `-Owidth=${width}`, file])).replaceAll(/.\x08/gu, "");
}

Deno.test({
  ...needs(
    "mandoc",
    hasMandoc,
    "manual pages name every command, flag, setting and event, and mandoc has no complaint",
  ),
  async fn() {
    await using directory = await makeTempDir();
    const pages = await manPages(new Date("2026-01-02T00:00:00Z"));
    assertEquals(await manPages(new Date("2026-01-02T23:00:00Z")), pages);
    for (const [name, text] of pages) await Deno.writeTextFile(`${directory.path}/${name}`, text);
    assertEquals(await mandoc(["-Tlint", "-Wall", ...pages.keys()], directory.path), "");
    const shown = new Map<string, string>();
    for (const name of pages.keys()) {
      const text = await rendered(`${directory.path}/${name}`);
      shown.set(name, text);
      // Only what is typed as it is does not wrap.
      const long = text.split("\n").filter((line) =>
        line.length > 80 && !/^ +(?:reasonix|https?:)/.test(line)
      );
      assertEquals(long, [], name);
      assertStringIncludes(text, "2026-01-02");
    }

    const root = shown.get("reasonix.1") ?? "";
    const sections = (await commandsPage()).split(/^## /m).slice(1);
    assert(sections.length > 50, "no commands were found");
    for (const section of sections) {
      const [, command = "", more = ""] = /^reasonix ([\w-]+)( [\w -]+)?\n/.exec(section) ?? [];
      const page = shown.get(`reasonix-${command}.1`) ?? "";
      assertStringIncludes(root.replaceAll(/\s+/g, " "), ` reasonix-${command}(1)`);
      assertStringIncludes(page, `reasonix ${command}${more}`);
      for (const [flag] of section.matchAll(/(?<=^ {2}.{4})--[\w[\]-]+/gm)) {
        assert(page.includes(` ${flag}`), `${flag} is not in reasonix-${command}.1`);
      }
    }
    const schema = JSON.parse(
      await Deno.readTextFile(new URL("../../../docs/config.schema.json", import.meta.url)),
    );
    const config = shown.get("reasonix.toml.5") ?? "";
    for (const key of Object.keys(schema.properties)) assert(config.includes(`\n       ${key}`), key);
    for (const kind of Object.keys(EVENT_KINDS)) {
      assertStringIncludes(shown.get("reasonix-events.7") ?? "", `\n   ${kind}\n`);
    }
  },
});

/** Text that a careless writer would lose, change or execute. */
const HOSTILE: readonly string[] = [
  ".TH evil 1",
  "'br",
  ".so /etc/passwd",
  "a\\nb \\fB \\(bu \\*x \\[u0041] \\&",
  "C:\\Users\\name",
  "--flag=a-b -x 'single' `tick` ^caret ~/home \"double\"",
  "…×中文🙂é",
  "$HOME/.config ${NAME:-default} %AppData%\\reasonix",
  ".. ... .",
  "{{turn}} [[providers]] a|b <x> #!schema",
];

Deno.test({
  ...needs(
    "mandoc",
    hasMandoc,
    "markdown of manual pages shows hostile text as it is, in prose, code, tables and lists",
  ),
  async fn() {
    await using directory = await makeTempDir();
    const file = `${directory.path}/x.7`;
    const code = (text: string) => `\`\`${text.startsWith("`") ? " " : ""}${text} \`\``;
    const body = HOSTILE.map((text) =>
      `# Title\n\n${code(text)}\n\n- ${code(text)}\n\n1. ${code(text)}\n\n| a | b |\n|--|--|\n| ${
        code(text.replaceAll("|", "\\|"))
      } | x |\n\n\`\`\`\n${text}\n\`\`\`\n`
    ).map(markdown);
    await Deno.writeTextFile(file, `.TH X 7 2026-01-02\n.SH NAME\nx \\- y\n.SH BODY\n${body.join("")}`);
    assertEquals(await mandoc(["-Tlint", "-Werror", file]), "");
    const text = await rendered(file, 200);
    for (const line of HOSTILE) {
      const found = text.split("\n").filter((each) =>
        each.trim().replace(/^(?:•|1\.) +/, "").startsWith(line)
      );
      assert(found.length === 5, `${line} is there ${found.length} times:\n${text}`);
    }
  },
});

Deno.test("markdown of manual pages keeps a sentence to a line and never makes a request of text", () => {
  assertEquals(
    markdown("One. Two e.g. this. Three's `-x` a-b.\n\n.TH x\n"),
    "One.\nTwo e.g. this.\nThree's \\fB\\-x\\fR a-b.\n.PP\n\\&.TH x\n",
  );
  const long = markdown(`${"word. ".repeat(40)}\n`);
  for (const line of long.split("\n")) assert(line.length <= 80 && !/^[.']/.test(line), line);
  assertEquals(
    markdown("see [mcp.md](mcp.md#x), [a page](b.md), [site](https://example.org/a-b)\n"),
    "see \\fBreasonix docs mcp\\fR, a page, site <https://example.org/a\\-b>\n",
  );
});
