/** Secrets of the environment: commands do not receive them, and no text of the program shows them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const SECRETS: Readonly<Record<string, string>> = {
  HDR: "header-value-4711",
  PLUG: "plugin-value-4712",
  MOCK_KEY: "provider-value-4713",
  OPENAI_API_KEY: "openai-value-4714",
  GITHUB_TOKEN: "github-value-4715",
  MY_SECRET_THING: "secret-value-4716",
  DEPLOY_KEY: "deploy-value-4717",
  PGPASSWORD: "database-value-4718",
  AWS_CREDENTIALS_TEXT: "account-value-4719",
};
const PROVIDER = 'api_key_env = "MOCK_KEY"\nheaders = { "X-Extra" = "${HDR}" }\n' +
  '[[plugins]]\nname = "later"\ncommand = "serve"\nenv = { ACCESS_TOKEN = "${PLUG}" }\n';
/** Prints every variable by name, so that a redacted value differs from an absent one. */
const ASK = Object.keys(SECRETS).map((name) => `echo ${name}=\${${name}-absent}`).join("; ");

function textBelow(directory: string): string {
  let text = "";
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) text += textBelow(path);
    else if (name !== "config.toml") text += new TextDecoder("latin1").decode(Deno.readFileSync(path));
  }
  return text;
}

for (const mode of ["auto", "off"]) {
  Deno.test(`commands get no secret of the environment, and one notice lists the removed ones (jail ${mode})`, async () => {
    await using server = startModelServer([
      { calls: [{ name: "bash", args: { command: ASK } }] },
      { calls: [{ name: "bash", args: { command: "env; cat /proc/self/environ | tr '\\0' '\\n'" } }] },
      { text: "done" },
    ]);
    await using world = await makeWorld(mockConfig(server.url, `[sandbox]\nbash = "${mode}"\n`, PROVIDER));
    const done = await world.run(["run", "go"], { env: { ...SECRETS, HARMLESS: "kept" } });
    assertEquals(done.code, 0, done.stderr);
    const result = server.requests[1]?.json.messages.at(-1).content as string;
    assertEquals(result.trim(), Object.keys(SECRETS).map((name) => `${name}=absent`).join("\n"));
    assertStringIncludes(server.requests[2]?.json.messages.at(-1).content, "HARMLESS=kept");
    const notices = done.stderr.split("\n").filter((line) => line.includes("Held back from commands"));
    assertEquals(notices.length, 1, done.stderr);
    for (const name of Object.keys(SECRETS).filter((name) => name !== "MOCK_KEY")) {
      assertMatch(notices[0] ?? "", new RegExp(`\\b${name}\\b`));
    }
    assertStringIncludes(notices[0] ?? "", "[tools.shell] pass_env");
    for (const value of Object.values(SECRETS)) {
      assert(!textBelow(world.home).includes(value) && !done.stderr.includes(value), value);
    }
  });
}

Deno.test("a variable in pass_env reaches commands, and its value appears in no text", async () => {
  const file = '{ printf %s "$GITHUB_TOKEN" | wc -c; echo $GITHUB_TOKEN; echo ${DEPLOY_KEY-absent}; }';
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: file } }] },
    { text: `the token is ${SECRETS.GITHUB_TOKEN}` },
  ]);
  const config = '[tools.shell]\npass_env = ["GITHUB_TOKEN"]\n';
  await using world = await makeWorld(mockConfig(server.url, config, PROVIDER));
  const metrics = `${world.dir}/metrics.json`;
  const done = await world.run(["run", "--metrics", metrics, "--output-format", "json", "go"], {
    env: SECRETS,
  });
  assertEquals(
    server.requests[1]?.json.messages.at(-1).content.trim(),
    `${SECRETS.GITHUB_TOKEN?.length}\n[redacted]\nabsent`,
  );
  for (const text of [done.stdout, done.stderr, await Deno.readTextFile(metrics), textBelow(world.home)]) {
    assert(!text.includes(SECRETS.GITHUB_TOKEN ?? ""), text.slice(0, 500));
  }
});

Deno.test("words, paths and locales of a server's environment are kept in texts, and its token is redacted", async () => {
  const handed = {
    STAGE: "production",
    MYDIR: "/srv/projects/shop",
    MYLANG: "en_US.UTF-8",
    TRACKER_TOKEN: "tracker-value-4720",
  };
  const line = Object.values(handed).join(" | ");
  const names = [...Object.keys(handed), "NODE_ENV", "APP_HOME", "LC_TIME", "COPY"];
  await using server = startModelServer([
    { calls: [{ name: "read_file", args: { path: "settings.txt" } }] },
    { calls: [{ name: "bash", args: { command: names.map((name) => `echo ${name}=$${name}`).join("; ") } }] },
    { calls: [{ name: "write_file", args: { path: "out.txt", content: `stage: ${handed.STAGE}\n` } }] },
    { text: `deployed to ${handed.STAGE} from ${handed.MYDIR} with ${handed.TRACKER_TOKEN}` },
  ]);
  const plugin = '[[plugins]]\nname = "later"\ncommand = "serve"\nargs = ["--root", "${MYDIR}"]\n' +
    'env = { STAGE = "${STAGE}", LOCALE = "${MYLANG}", AUTH = "Bearer ${TRACKER_TOKEN}" }\n';
  await using world = await makeWorld(mockConfig(server.url, "", plugin));
  await world.write("settings.txt", `${line}\n`);
  const done = await world.run(["run", "--allowed-tools", "Edit", "go"], {
    env: {
      ...handed,
      NODE_ENV: handed.STAGE,
      APP_HOME: `${handed.MYDIR}/app`,
      LC_TIME: handed.MYLANG,
      COPY: handed.TRACKER_TOKEN,
    },
  });
  assertEquals(done.code, 0, done.stderr);
  const resultOf = (request: number) => server.requests[request]?.json.messages.at(-1).content as string;
  assertStringIncludes(resultOf(1), line.replace(handed.TRACKER_TOKEN, "[redacted]"));
  assertEquals(resultOf(2).trim().split("\n"), [
    "STAGE=production",
    "MYDIR=/srv/projects/shop",
    "MYLANG=en_US.UTF-8",
    "TRACKER_TOKEN=",
    "NODE_ENV=production",
    "APP_HOME=/srv/projects/shop/app",
    "LC_TIME=en_US.UTF-8",
    "COPY=",
  ]);
  assertStringIncludes(JSON.stringify(server.requests[3]?.json.messages), "stage: production");
  assertEquals(await world.read("out.txt"), "stage: production\n");
  assertStringIncludes(done.stdout, "deployed to production from /srv/projects/shop with [redacted]");
  assert(!`${done.stdout}${done.stderr}`.includes(handed.TRACKER_TOKEN));
});

Deno.test("without secrets in the environment there is no notice", async () => {
  await using server = startModelServer([{ calls: [{ name: "bash", args: { command: "true" } }] }, {
    text: "ok",
  }]);
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run(["run", "go"], {
    within: [
      "/usr/bin/env",
      "-i",
      `PATH=${Deno.env.get("PATH")}`,
      `HOME=${world.home}`,
      `REASONIX_HOME=${world.home}`,
    ],
  });
  assertEquals(done.code, 0, done.stderr);
  assert(!done.stderr.includes("Held back"), done.stderr);
});
