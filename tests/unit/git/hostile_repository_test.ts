import { type ChangeRequest, defaultRequest, Git, readChange } from "../../../src/git/mod.ts";
import { objectTools } from "../../../src/review/object_tools.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { git, makeRepository } from "../worktree/support.ts";

/** Settings that name a program, each with its name as the argument. */
const PROGRAMS = [
  ...["core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"],
  ...["core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv"],
  ...[
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "filter.lfs.clean",
    "filter.lfs.process",
  ],
  ...[
    "merge.evil.driver",
    "gpg.program",
    "gpg.ssh.program",
    "pager.diff-tree",
    "pager.grep",
    "pager.rev-list",
  ],
  ...["interactive.diffFilter", "uploadpack.packObjectsHook", "remote.origin.uploadpack", "sequence.editor"],
  ...["difftool.evil.cmd", "diff.tool", "browser.evil.cmd", "mergetool.evil.cmd", "trailer.evil.command"],
];
/** Settings in which an exclamation mark begins a command line. */
const COMMANDS = [
  "credential.helper",
  "submodule.module.update",
  "alias.diff-tree",
  "alias.rev-parse",
  "alias.grep",
];
const SETTINGS = {
  "diff.evil.cachetextconv": "true",
  "diff.evil.binary": "true",
  "filter.evil.required": "true",
  "log.showSignature": "true",
  "submodule.recurse": "true",
  "diff.submodule": "log",
  "diff.ignoreSubmodules": "none",
  "status.submoduleSummary": "true",
  "core.splitIndex": "true",
  "core.untrackedCache": "true",
  "core.repositoryFormatVersion": "1",
  "extensions.partialClone": "origin",
  "remote.origin.promisor": "true",
  "remote.origin.partialclonefilter": "blob:none",
  "protocol.allow": "always",
  "protocol.ext.allow": "always",
  "protocol.file.allow": "always",
  "protocol.ssh.allow": "always",
  "fetch.recurseSubmodules": "true",
  "grep.fallbackToNoIndex": "true",
  "grep.patternType": "perl",
};
const HOOKS = [
  "post-index-change",
  "reference-transaction",
  "fsmonitor-watchman",
  "post-checkout",
  "pre-commit",
  "pre-auto-gc",
];
const ATTRIBUTES = "* filter=evil diff=evil merge=evil ident text=auto\n*.lfs filter=lfs diff=lfs\n";

Deno.test("a repository whose settings, attributes and hooks name programs executes none of them", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using repo = await makeRepository({
    ".gitattributes": ATTRIBUTES,
    "a.txt": "1\n",
    "b.lfs": "1\n",
    "gone.txt": "missing\n",
    "kept.txt": "kept\n",
  });
  const { dir, home } = repo;
  const marks = `${home}/marks`;
  await Deno.mkdir(marks);
  const evil = `${home}/evil`;
  await Deno.writeTextFile(evil, `#!/bin/sh\n: > "${marks}/$(basename "$0")-$1"\nexit 1\n`, { mode: 0o755 });
  const executed = () => [...Deno.readDirSync(marks)].map(({ name }) => name).sort();

  // A submodule with the same settings, and objects that only a fetch could add.
  await git(dir, "init", "-q", "-b", "main", "module");
  await repo.write("module/.gitattributes", ATTRIBUTES);
  await repo.write("module/m.txt", "1\n");
  await git(`${dir}/module`, "add", "-A");
  await git(`${dir}/module`, "commit", "-qm", "module");
  await git(dir, "add", "module");
  await repo.write(
    ".gitmodules",
    `[submodule "module"]\n\tpath = module\n\turl = ext::${evil} url\n\tupdate = !${evil} module\n`,
  );
  await repo.write("gone.txt", "found\n");
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "second");
  const objectOf = async (name: string) => (await git(dir, "rev-parse", name)).trim();
  const missing = [await objectOf("HEAD~1:gone.txt"), await objectOf("HEAD:kept.txt")];

  for (const at of [dir, `${dir}/module`]) {
    await Deno.mkdir(`${at}/.git/evil-hooks`, { recursive: true });
    await Deno.mkdir(`${at}/.git/hooks`, { recursive: true });
    for (const hook of HOOKS) {
      for (const place of ["evil-hooks", "hooks"]) await Deno.copyFile(evil, `${at}/.git/${place}/${hook}`);
    }
    const lines = [
      ...PROGRAMS.map((name) => [name, `${evil} ${name}`]),
      ...COMMANDS.map((name) => [name, `!${evil} ${name}`]),
      ...Object.entries(SETTINGS),
      ["core.hooksPath", `${at}/.git/evil-hooks`],
    ].map(([name = "", value = ""]) => {
      const [section = "", ...rest] = name.split(".");
      const key = rest.pop();
      return `[${section}${rest.length > 0 ? ` "${rest.join(".")}"` : ""}]\n\t${key} = ${
        JSON.stringify(value)
      }\n`;
    });
    await Deno.writeTextFile(`${at}/.git/config`, lines.join(""), { append: true });
    await Deno.writeTextFile(`${at}/.git/info/attributes`, ATTRIBUTES);
  }
  // The same bytes with another time, so that git has to look into the files.
  for (const name of ["a.txt", "module/m.txt"]) await Deno.utime(`${dir}/${name}`, 1, 1);
  await repo.write("b.lfs", "2\n");
  await repo.write("module/m.txt", "2\n");
  await repo.write("new.lfs", "1\n");

  const finder = Git.find(dir);
  const requests: readonly ChangeRequest[] = [
    { kind: "uncommitted" },
    { kind: "staged" },
    { kind: "base", base: "HEAD~1" },
    { kind: "commit", commit: "HEAD" },
  ];
  const use = async (request: ChangeRequest, paths: readonly string[]) => {
    const change = await readChange(finder, dir, request).catch(() => undefined);
    if (!change) return;
    for (const path of paths) await Promise.all([change.base.read(path), change.head.read(path)]);
    for (const tool of objectTools(finder, change)) {
      const more = tool.name === "grep" ? { pattern: "[0-9]" } : {};
      const args = paths.flatMap((path) => ["head", "base"].map((revision) => ({ path, revision, ...more })));
      await Promise.all(args.map((each) => tool.execute(each, makeToolContext(dir))));
    }
  };
  assertEquals(await defaultRequest(finder, dir), { kind: "uncommitted" });
  for (const request of requests) {
    await use(request, ["b.lfs", "module", `--open-files-in-pager=${evil}`, "."]);
  }
  const lists = await Promise.all(requests.map((request) => readChange(finder, dir, request)));
  assertEquals(lists.map(({ files }) => files.map(({ path }) => path)), [
    ["b.lfs", "new.lfs"],
    [],
    [".gitmodules", "gone.txt", "module"],
    [".gitmodules", "gone.txt", "module"],
  ]);
  for (const id of missing) await Deno.remove(`${dir}/.git/objects/${id.slice(0, 2)}/${id.slice(2)}`);
  for (const url of [`ext::${evil} url`, "ssh://127.0.0.1:1/x", `file://${dir}`, `${dir}/.git`, `evil::x`]) {
    await git(dir, "config", "remote.origin.url", url);
    await use({ kind: "commit", commit: "HEAD" }, ["gone.txt"]);
    await use({ kind: "commit", commit: "HEAD~1" }, ["gone.txt"]);
    for (const kind of ["uncommitted", "staged"] as const) await use({ kind }, ["kept.txt", "."]);
  }
  assertEquals(executed(), []);

  // The same settings do execute in an ordinary git.
  await git(dir, "config", "remote.origin.url", `ext::${evil} url`);
  for (
    const args of [["diff"], ["status"], ["add", "-A"], ["update-ref", "refs/x", "HEAD"], [
      "cat-file",
      "-p",
      missing[1] ?? "",
    ]]
  ) {
    await new Deno.Command("git", {
      args,
      cwd: dir,
      signal: AbortSignal.timeout(30_000),
      env: { PATH: `${home}:${Deno.env.get("PATH")}` },
      stdout: "null",
      stderr: "null",
    }).output();
  }
  for (
    const name of [
      "evil-core.fsmonitor",
      "evil-filter.evil.process",
      "reference-transaction-prepared",
      "evil-url",
    ]
  ) {
    assert(executed().includes(name), `${name}: ${executed()}`);
  }
});
