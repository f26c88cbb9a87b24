import { ReasonixError } from "../../../src/core/mod.ts";
import {
  absolutePath,
  isAbsolute,
  normalize,
  parentOf,
  relativeTo,
  requireFilePath,
  slashed,
  splitPath,
} from "../../../src/path/lexical.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";

const WINDOWS = { cwd: "C:\\code\\ws", home: "C:\\Users\\me", windows: true };
const POSIX = { cwd: "/srv/ws", home: "/home/me", windows: false };

Deno.test("absolutePath reads Windows paths as Windows does", () => {
  const cases: [string, string][] = [
    ["src/a.ts", "C:/code/ws/src/a.ts"],
    ["..\\x", "C:/code/ws/../x"],
    ["D:/x/y", "D:/x/y"],
    ["\\x", "C:/x"],
    ["/x", "C:/x"],
    ["\\\\server\\share\\x", "//server/share/x"],
    ["//server/share/x", "//server/share/x"],
    ["~\\x", "C:/Users/me/x"],
    ["~/x", "C:/Users/me/x"],
    ["\\\\?\\D:\\x", "D:/x"],
    ["\\\\.\\D:\\x", "D:/x"],
    ["\\??\\D:\\x", "D:/x"],
    ["\\\\?\\UNC\\server\\share\\x", "//server/share/x"],
  ];
  for (const [path, expected] of cases) assertEquals(absolutePath(path, WINDOWS), expected, path);
  const share = { ...WINDOWS, cwd: "\\\\server\\share\\ws" };
  assertEquals([absolutePath("a", share), absolutePath("\\a", share)], [
    "//server/share/ws/a",
    "//server/share/a",
  ]);
});

Deno.test("requireFilePath rejects Windows paths that name another file than they seem to", () => {
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
    "",
    "a\0b",
  ];
  for (const form of forms) {
    assertThrows(() => requireFilePath(form, true), ReasonixError, "Cannot use the path");
  }
  for (const form of ["", "a\0b"]) {
    assertThrows(() => requireFilePath(form, false), ReasonixError, "Cannot use the path");
  }
});

Deno.test("absolutePath keeps the same names on other systems", () => {
  for (const name of ["nul", "a.ts.", "a:b", "C:x", "a\\b", "~x"]) {
    requireFilePath(name, false);
    assertEquals(absolutePath(name, POSIX), `/srv/ws/${name}`);
  }
  assertEquals(absolutePath("~", POSIX), "/home/me");
  assertEquals(absolutePath("~\\x", POSIX), "/srv/ws/~\\x");
  assertEquals(absolutePath("~/x", { cwd: "/", windows: false }), "/~/x");
});

Deno.test("splitPath and normalize never climb above the root", () => {
  assertEquals(normalize("/a/./b//../../../c", false), "/c");
  assertEquals(normalize("C:\\a\\..\\..\\b", true), "C:/b");
  assertEquals(normalize("\\\\s\\h\\..\\x", true), "//s/h/x");
  assertEquals(normalize("C:\\a.\\b. .\\..c", true), "C:/a/b/..c");
  assertEquals(splitPath("\\\\s\\h\\x", true), { root: "//s/h/", names: ["x"] });
  assertEquals(splitPath("C:", true), { root: "C:/", names: [] });
});

Deno.test("parentOf and relativeTo handle the root", () => {
  assertEquals(["/a/b", "/a", "/", "C:/a", "C:/"].map(parentOf), ["/a", "/", "/", "C:/", "C:/"]);
  assertEquals([relativeTo("/a/b", "/a"), relativeTo("/a", "/"), relativeTo("/a", "/a")], ["b", "a", "."]);
  assertEquals([relativeTo("/ab", "/a"), relativeTo("/", "/a")], [undefined, undefined]);
  assertEquals(
    ["/x", "C:\\x", "\\x", "C:x", "x"].map((path) => isAbsolute(path, true)),
    [true, true, true, false, false],
  );
  assertEquals(slashed("a\\b", false), "a\\b");
});
