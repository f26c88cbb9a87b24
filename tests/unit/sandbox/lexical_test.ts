import { ReasonixError } from "../../../src/core/mod.ts";
import { absolutePath, normalizeLexically, splitPath } from "../../../src/sandbox/lexical.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";

const WINDOWS = { cwd: "C:\\code\\ws", userHome: "C:\\Users\\me", windows: true };
const POSIX = { cwd: "/srv/ws", userHome: "/home/me", windows: false };

Deno.test("absolutePath reads Windows forms as Windows does", () => {
  const cases: [string, string][] = [
    ["src/a.ts", "C:\\code\\ws\\src\\a.ts"],
    ["..\\x", "C:\\code\\ws\\..\\x"],
    ["D:/x/y", "D:\\x\\y"],
    ["\\x", "C:\\x"],
    ["/x", "C:\\x"],
    ["\\\\server\\share\\x", "\\\\server\\share\\x"],
    ["//server/share/x", "\\\\server\\share\\x"],
    ["~\\x", "C:\\Users\\me\\x"],
    ["~/x", "C:\\Users\\me\\x"],
  ];
  for (const [path, expected] of cases) assertEquals(absolutePath(path, WINDOWS), expected, path);
});

Deno.test("absolutePath refuses Windows forms that are not the file they look like", () => {
  const forms = [
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "//./pipe/x",
    "\\??\\C:\\x",
    "C:x",
    "a.txt:stream",
    "C:\\a.txt:s:$DATA",
    "nul",
    "src\\CON.txt",
    "com1",
    "LPT\u00b9",
    "a.ts.",
    "a.ts ",
    "dir.\\a",
    "...",
  ];
  for (const form of forms) {
    assertThrows(() => absolutePath(form, WINDOWS), ReasonixError, "Cannot use the path");
  }
});

Deno.test("absolutePath takes the same names as they are on other systems", () => {
  for (const name of ["nul", "a.ts.", "a:b", "C:x", "a\\b", "~x"]) {
    assertEquals(absolutePath(name, POSIX), `/srv/ws/${name}`);
  }
  assertEquals(absolutePath("~", POSIX), "/home/me");
  assertEquals(absolutePath("~\\x", POSIX), "/srv/ws/~\\x");
  assertEquals(absolutePath("~/x", { cwd: "/", windows: false }), "/~/x");
});

Deno.test("splitPath and normalizeLexically never climb above the root", () => {
  assertEquals(normalizeLexically("/a/./b//../../../c", false), "/c");
  assertEquals(normalizeLexically("C:\\a\\..\\..\\b", true), "C:\\b");
  assertEquals(normalizeLexically("\\\\s\\h\\..\\x", true), "\\\\s\\h\\x");
  assertEquals(splitPath("\\\\s\\h\\x", true), { root: "\\\\s\\h\\", names: ["x"] });
});
