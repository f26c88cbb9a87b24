/** Secrets in the chat: no report, command, export or file of the program shows one. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig, programFile } from "../support/program.ts";
import { openTerminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

/** Secrets in the environment and in the file of keys, and one that only its form identifies. */
const HELD = "provider-value-4713";
const FILED = "filed-value-4720";
const FORMED = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
const PROVIDER = 'api_key_env = "MOCK_KEY"\nheaders = { "X-Extra" = "${FILED_KEY}" }\n';

function textBelow(directory: string): string {
  let text = "";
  for (const { name, isDirectory, isFile } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) text += textBelow(path);
    else if (isFile && name !== ".env") text += new TextDecoder("latin1").decode(Deno.readFileSync(path));
  }
  return text;
}

Deno.test({
  ...needs(
    "tmux",
    hasTmux && Deno.build.os === "linux",
    "the chat shows, sends and stores no secret",
  ),
  async fn() {
    await using server = startModelServer([], { fallback: { text: `So it is ${HELD}.` } });
    const config = mockConfig(server.url, '[sandbox]\nbash = "off"\n', PROVIDER);
    await using world = await makeWorld(config);
    await Deno.writeTextFile(`${world.home}/.env`, `FILED_KEY=${FILED}\n`, { mode: 0o600 });
    await using terminal = await openTerminal(await programFile(), {
      cwd: world.dir,
      columns: 120,
      rows: 50,
      env: {
        REASONIX_HOME: world.home,
        HOME: world.home,
        LC_ALL: "C.UTF-8",
        REASONIX_LANG: "en",
        MOCK_KEY: HELD,
        ...denoDir(),
      },
    });
    const enter = async (line: string, until: string) => {
      await terminal.type(line);
      await terminal.press("Enter");
      await terminal.shows(until);
    };
    await enter("clear; reasonix", "> Ask for something");
    await enter("!env; echo end-of-$((1+1))", "end-of-2");
    await enter(`!cat '${world.home}/.env'; echo end-of-$((1+2))`, "end-of-3");
    // While the command runs, the end of its output is visible as well.
    await enter(`!cat '${world.home}/.env'; echo now-$((3+4)); sleep 1`, "now-7");
    assert(!(await terminal.screen()).includes(FILED));
    await terminal.shows("sleep 1 · exit 0");
    await enter("/status", "configuration  ");
    await enter("/doctor", "No problems found");
    await enter("/bug", "Nothing was sent.");
    const shown = await terminal.history();
    for (const secret of [HELD, FILED]) assert(!shown.includes(secret), shown);
    await enter("hello", "So it is");
    await enter("/export chat.md", "session is in");
    await enter("/bug bug.txt", "report is in");
    for (const secret of [HELD, FILED]) {
      for (const name of ["chat.md", "bug.txt"]) assert(!(await world.read(name)).includes(secret), name);
    }
    // Typed text stays on the screen; it is stored and sent without known secrets.
    await enter(`mine are ${HELD}, ${FILED} and ${FORMED}, you see`, "you see");
    await terminal.shows("> Ask for something");
    await terminal.press("C-d");
    await terminal.shows("saved. Continue with");
    const kept = textBelow(world.home);
    assertStringIncludes(kept, "you see");
    for (const secret of [HELD, FILED, FORMED]) assert(!kept.includes(secret), `${secret} is in a file`);
    assertEquals(server.requests.length, 2);
  },
});
