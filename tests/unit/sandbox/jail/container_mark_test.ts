import { containerMark } from "../../../../src/sandbox/mod.ts";
import { assertEquals } from "../../../support/assert.ts";

const OVERLAY = "1 2 0:3 / / rw,relatime - overlay overlay rw,lowerdir=/a\n";
const PLAIN = "1 2 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";

Deno.test("containerMark names what only an engine can make, and believes no variable alone", () => {
  const kubernetes = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  const account = "/var/run/secrets/kubernetes.io/serviceaccount";
  const rows: readonly [readonly string[], Readonly<Record<string, string>>, string, string | undefined][] = [
    [[], {}, OVERLAY, undefined],
    [["/.dockerenv"], {}, PLAIN, "/.dockerenv"],
    [["/run/.containerenv"], {}, OVERLAY, "/run/.containerenv"],
    [[account], kubernetes, PLAIN, account],
    [[], kubernetes, OVERLAY, "KUBERNETES_SERVICE_HOST"],
    [[], kubernetes, OVERLAY.replace("overlay overlay", "fuse.fuse-overlayfs x"), "KUBERNETES_SERVICE_HOST"],
    [[], kubernetes, PLAIN, undefined],
    [[], kubernetes, "", undefined],
    // An overlay elsewhere, or in the text of another mount.
    [[], kubernetes, `${PLAIN}5 1 0:9 / /merged rw - overlay overlay rw\n`, undefined],
    [
      [],
      kubernetes,
      `${PLAIN}5 1 0:9 / /a rw - tmpfs 1\\0402\\0403\\040/\\040/\\040-\\040overlay rw\n`,
      undefined,
    ],
    [[], { container: "docker", DOCKER: "1" }, OVERLAY, undefined],
    [["/run/.containerenv", "/run/host/etc"], kubernetes, OVERLAY, undefined],
  ];
  for (const [files, env, mounts, expected] of rows) {
    const system = { exists: (path: string) => files.includes(path), mounts: () => mounts };
    assertEquals(containerMark((name) => env[name], system), expected, `${files} ${JSON.stringify(env)}`);
  }
});
