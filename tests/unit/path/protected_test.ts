import {
  PROTECTED_PATHS,
  protectedCandidates,
  protectedHolder,
  protectedPath,
} from "../../../src/path/protected.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const HOME = "/home/me";
const ROOT = "/srv/ws";
const context = (roots: readonly string[] = [ROOT]) => ({
  home: HOME,
  roots,
  realPath: (path: string) => path.replace("/srv/link", ROOT),
});

/** Paths that the gate prompts for and the jail mounts read-only. */
const FORMER_GATE = [
  ".git",
  ".git/hooks",
  ".git/hooks/pre-commit",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".git/gitdir",
  ".git/modules/a/b/config",
  ".git/worktrees/w/config.worktree",
  "reasonix.toml",
  ".mcp.json",
  ".envrc",
  ".vscode/settings.json",
  ".vscode/tasks.json",
  ...["hooks", "commands", "skills", "agents", "plugins", "bin"].flatMap((name) => [
    `.reasonix/${name}`,
    `.reasonix/${name}/x/y`,
  ]),
  ".reasonix/hooks.toml",
  ".reasonix/settings.json",
];
const FORMER_HOME =
  ("bashrc bash_profile bash_login bash_logout bash_aliases profile zshrc zshenv zprofile zlogin zlogout kshrc mkshrc " +
    "cshrc tcshrc login logout inputrc envrc xprofile xinitrc gitconfig config/fish config/git config/autostart " +
    "config/systemd/user/x ssh ssh/id agents/skills/a claude/hooks/b claude/settings.json claude/settings.local.json")
    .split(" ").map((name) => `.${name}`);
const FORMER_JAIL = [
  ...(".gitconfig .config/git .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv " +
    ".zprofile .zlogin .zlogout .config/fish .config/autostart .config/systemd .ssh .envrc .mcp.json .reasonix/agents " +
    ".reasonix/commands .reasonix/hooks .reasonix/skills reasonix.toml .vscode/settings.json .vscode/tasks.json")
    .split(" "),
];
const FORMER_PROGRAMS =
  ("bin .local/bin .local/lib .local/pipx .local/share/uv .local/share/mise .local/share/pipx .local/share/nvim " +
    ".local/share/applications .config/nvim .vim .emacs.d .oh-my-zsh .zsh .cargo/bin .cargo/env .cargo/config.toml " +
    ".rustup go/bin .deno .bun/bin .npm-global .yarn/bin .nvm .volta .pyenv .rbenv .asdf .sdkman .krew .dotnet/tools " +
    ".vscode/extensions .vscode-server .npmrc .agents .claude").split(" ");

Deno.test("protectedPath includes all paths that the gate prompts for and the jail mounts read-only", () => {
  for (const name of FORMER_GATE) {
    for (const path of [`${ROOT}/${name}`, `/elsewhere/deep/${name}`, `${ROOT}/${name.toUpperCase()}`]) {
      assert(protectedPath([path], context()) !== undefined, path);
    }
  }
  for (const name of [...FORMER_HOME, ...FORMER_PROGRAMS]) {
    assert(protectedPath([`${HOME}/${name}`], context()) !== undefined, name);
  }
  for (const name of FORMER_JAIL) {
    for (const root of [ROOT, "/srv/link"]) {
      assert(protectedPath([`${ROOT}/${name}`], context([root])) !== undefined, name);
    }
  }
});

Deno.test("protectedPath excludes ordinary files", () => {
  for (
    const name of [
      "src/a.ts",
      ".github/workflows/ci.yml",
      ".gitignore",
      ".git/index",
      ".git/objects/ab/cd",
      ".git/info/exclude",
      "docs/.bashrc.md",
      "sub/.bashrc",
      "my.git/config.toml",
      "a.git/config",
      ".reasonix/notes.md",
      ".vscode/launch.json",
      "bin/tool",
      ".npmrc",
      ".config/app.json",
    ]
  ) {
    assertEquals(protectedPath([`${ROOT}/${name}`], context()), undefined, name);
  }
});

Deno.test("programs in the home directory are protected unless they are in a project", () => {
  const path = `${HOME}/.config/nvim/init.lua`;
  assert(protectedPath([path], context()) !== undefined);
  assert(protectedPath([path], context([HOME])) !== undefined);
  assertEquals(protectedPath([path], context([`${HOME}/.config/nvim`])), undefined);
  assert(protectedPath([`${HOME}/.ssh/config`], context([`${HOME}/.ssh`])) !== undefined);
});

Deno.test("protectedHolder returns the directories that contain protected files", () => {
  const holds = (path: string) => protectedHolder([path], context()) !== undefined;
  for (const path of [`${ROOT}/.vscode`, `${ROOT}/a/.reasonix`, `${HOME}/.config`, `${HOME}/.claude`]) {
    assert(holds(path), path);
  }
  for (const path of [ROOT, `${ROOT}/.config`, `${ROOT}/src`, `${HOME}/work`]) assert(!holds(path), path);
});

Deno.test("protectedCandidates finds existing files, also by wildcard and by several names in a directory", async () => {
  await using dir = await makeTempDir();
  for (const name of [".reasonix/plugins", ".reasonix/bin", ".vscode", ".config/fish", "src"]) {
    await Deno.mkdir(`${dir.path}/${name}`, { recursive: true });
  }
  for (const name of [".reasonix/settings.json", ".reasonix/hooks.toml", ".reasonix/x", ".bashrc"]) {
    await Deno.writeTextFile(`${dir.path}/${name}`, "");
  }
  const found = new Set(protectedCandidates(dir.path, ["anywhere", "root"]));
  const expected = [
    ".reasonix/plugins",
    ".reasonix/bin",
    ".reasonix/settings.json",
    ".reasonix/hooks.toml",
    ".bashrc",
    ".config/fish",
    ".vscode/tasks.json",
  ];
  for (const name of expected) assert(found.has(`${dir.path}/${name}`), name);
  assert(!found.has(`${dir.path}/.reasonix/x`) && !found.has(`${dir.path}/reasonix.toml`));
});

Deno.test("every row of the table is matched by its pattern", () => {
  for (const { pattern, scope, kind } of PROTECTED_PATHS) {
    const name = pattern.replace(/\{([^,}]*)[^}]*\}/g, "$1").replace("/**/", "/").replaceAll("**", "x")
      .replaceAll("*", "x");
    const base = scope === "anywhere" ? "/any/where" : scope === "root" ? ROOT : HOME;
    const found = protectedPath([`${base}/${name}`], context());
    assert(found !== undefined && (found === kind || scope === "programs"), pattern);
  }
});
