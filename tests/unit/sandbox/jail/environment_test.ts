import { childEnvironment } from "../../../../src/sandbox/jail/environment.ts";
import { assertEquals } from "../../../support/assert.ts";

Deno.test("childEnvironment keeps what commands need and identifies the agent", () => {
  const env = childEnvironment({
    env: { PATH: "/bin", HOME: "/home/me", LANG: "de_DE.UTF-8", TERM: "xterm" },
  });
  assertEquals(env.PATH, "/bin");
  assertEquals(env.HOME, "/home/me");
  assertEquals(env.LANG, "de_DE.UTF-8");
  assertEquals(env.TERM, "dumb");
  assertEquals(env.REASONIX, "1");
  assertEquals(env.AI_AGENT, "reasonix");
  assertEquals([env.GIT_TERMINAL_PROMPT, env.GIT_OPTIONAL_LOCKS], ["0", "0"]);
});

Deno.test("childEnvironment drops provider keys by name, by value and inside other values", () => {
  const env = childEnvironment({
    env: {
      DEEPSEEK_API_KEY: "sk-deep-0123456789",
      deepseek_api_key: "x",
      COPY: "sk-deep-0123456789",
      URL: "https://me:sk-deep-0123456789@host/",
      FROM_FILE: "value-of-the-env-file",
      GITHUB_TOKEN: "kept",
      SHORT: "1",
      FLAG: "1",
    },
    secretNames: ["DEEPSEEK_API_KEY", "SHORT"],
    secretValues: ["sk-deep-0123456789", "value-of-the-env-file"],
  });
  const kept = Object.keys(env).filter((name) =>
    ["COPY", "URL", "FROM_FILE", "SHORT", "FLAG", "GITHUB_TOKEN"].includes(name)
  );
  assertEquals(kept, ["GITHUB_TOKEN", "FLAG"]);
  assertEquals(env.DEEPSEEK_API_KEY, undefined);
  assertEquals(env.deepseek_api_key, undefined);
});

Deno.test("childEnvironment drops variables that load code, and internal ones", () => {
  const dropped = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "BASH_FUNC_ls%%",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "REASONIX_HOME",
    "REASONIX_TOKEN",
    "DENO_AUTH_TOKENS",
    "TMUX",
    "SSH_ASKPASS",
  ];
  const env = childEnvironment({ env: Object.fromEntries(dropped.map((name) => [name, "some value"])) });
  assertEquals(dropped.filter((name) => name in env), []);
});

Deno.test("childEnvironment keeps essential variables, even if a secret is part of the value", () => {
  const env = childEnvironment({
    env: { PATH: "/usr/local/bin:/bin", HOME: "/usr/local", ROOT: "/usr/local", ROOT_KEY: "/usr/local" },
    secretNames: ["ROOT_KEY"],
    secretValues: ["/usr/local"],
  });
  assertEquals([env.PATH, env.HOME, env.ROOT, env.ROOT_KEY], [
    "/usr/local/bin:/bin",
    "/usr/local",
    undefined,
    undefined,
  ]);
});
