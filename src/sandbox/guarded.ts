/** Places no tool may use, whatever the configuration says. Data first: reviewers should be able to check the lists. */

/** Files of the Reasonix home that hold keys. */
export const HOME_SECRETS = [".env", "credentials", "credentials.json", "tokens.json"] as const;

/** The only file of the Reasonix home that tools may write. */
export const HOME_CONFIG = "config.toml";

/** Kernel files that show another process, the kernel's memory, or a raw device. */
const KERNEL_READ = /^\/(?:proc\/(?:\d+|self|thread-self|kcore|kmsg|keys)(?:\/|$)|dev\/(?!shm(?:\/|$)))/;
const KERNEL_WRITE = /^\/(?:proc|sys|dev)(?:\/|$)(?!shm(?:\/|$))/;

/** Why a real path is not an ordinary file, or undefined. */
export function kernelReason(realPath: string, access: "read" | "write"): string | undefined {
  if (access === "write" && KERNEL_WRITE.test(realPath)) return "it is a kernel or device file";
  if (!KERNEL_READ.test(realPath)) return undefined;
  return realPath.startsWith("/dev/") ? "it is a device" : "it shows the inside of a running process";
}

/**
 * Paths inside a workspace, beside those of git, that make other programs run code later; relative to a writable root, `/` as separator.
 * The jail mounts those that exist read-only, and the gate asks before a tool writes one.
 */
export const PROTECTED_PATHS: readonly string[] = [
  ".gitconfig",
  ".config/git",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".config/fish",
  ".config/autostart",
  ".config/systemd",
  ".ssh",
  ".envrc",
  ".mcp.json",
  ".reasonix/agents",
  ".reasonix/commands",
  ".reasonix/hooks",
  ".reasonix/skills",
  "reasonix.toml",
  ".vscode/settings.json",
  ".vscode/tasks.json",
];

/** Directories of programs that the user starts, or that shells and editors load, relative to the user's home. */
export const HOME_PROGRAMS: readonly string[] = [
  "bin",
  ".local/bin",
  ".local/lib",
  ".local/pipx",
  ".local/share/uv",
  ".local/share/mise",
  ".local/share/pipx",
  ".local/share/nvim",
  ".local/share/applications",
  ".config/nvim",
  ".vim",
  ".emacs.d",
  ".oh-my-zsh",
  ".zsh",
  ".cargo/bin",
  ".cargo/env",
  ".cargo/config.toml",
  ".rustup",
  "go/bin",
  ".deno",
  ".bun/bin",
  ".npm-global",
  ".yarn/bin",
  ".nvm",
  ".volta",
  ".pyenv",
  ".rbenv",
  ".asdf",
  ".sdkman",
  ".krew",
  ".dotnet/tools",
  ".vscode/extensions",
  ".vscode-server",
  ".npmrc",
  ".agents",
  ".claude",
];

/** Whether a path relative to a root is protected. Anything in a `.git` directory counts: files there are git's to write. */
export function isProtected(relative: string): boolean {
  const path = relative.replaceAll("\\", "/").toLowerCase();
  if (/(?:^|\/)\.git(?:\/|$)/.test(path)) return true;
  return PROTECTED_PATHS.some((entry) => path === entry || path.startsWith(`${entry}/`));
}
