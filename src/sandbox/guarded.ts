/**
 * Places no tool may use, whatever the configuration says. Data first: reviewers should be able to check the
 * lists.
 */

/** Files of the Reasonix home that hold keys. */
export const HOME_SECRETS = [
  ".env",
  "credentials",
  "credentials.json",
  "mcp-auth.json",
  "tokens.json",
] as const;

/** Kernel files that show another process, the kernel's memory, or a raw device. */
const KERNEL_READ = /^\/(?:proc\/(?:\d+|self|thread-self|kcore|kmsg|keys)(?:\/|$)|dev\/(?!shm(?:\/|$)))/;
const KERNEL_WRITE = /^\/(?:proc|sys|dev)(?:\/|$)(?!shm(?:\/|$))/;

/** Tells why a real path is not an ordinary file, or undefined. */
export function kernelReason(realPath: string, access: "read" | "write"): string | undefined {
  if (access === "write" && KERNEL_WRITE.test(realPath)) return "it is a kernel or device file";
  if (!KERNEL_READ.test(realPath)) return undefined;
  return realPath.startsWith("/dev/") ? "it is a device" : "it shows the inside of a running process";
}
