import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { DELETE_SYMBOL } from "../../../../src/tool/builtin/delete_symbol/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";

/** The text after deleting a symbol, or the message. */
async function without(file: string, text: string, name: string, kind?: string): Promise<string> {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/${file}`, text);
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: file }, context);
  const result = await DELETE_SYMBOL.execute({ path: file, name, ...(kind ? { kind } : {}) }, context);
  return result.isError ? result.content : await Deno.readTextFile(`${dir.path}/${file}`);
}

const TS = `import { x } from "./x.ts";

/** Doc of A. */
export class A<T extends { a: number }> {
  #count = 0;
  /** Says "}" and more. */
  greet(name: string): { text: string } {
    const re = /[/}]\\}/g;
    return { text: \`hi \${name ? \`{\${name}\` : "}"}\` };
  }

  private value = () => {
    return 1;
  };
}

function f(a: string): void;
function f(a: number): void;
function f(a: unknown): void {
  greet(a); // {
}

export const LIMIT = 3;
export const table = {
  a: [1, 2],
}
type Pair = {
  a: string;
} | undefined;

export async function* last() {}
`;

Deno.test("delete_symbol removes TypeScript functions, classes, members, types and variables", async () => {
  const cut = (from: string, to: string) => TS.slice(0, TS.indexOf(from)) + TS.slice(TS.indexOf(to));
  assertEquals(await without("a.ts", TS, "A"), cut("/** Doc of A", "function f(a: string)"));
  assertEquals(
    await without("a.ts", TS, "A.greet"),
    cut("  /** Says", "\n  private value"),
  );
  assertEquals(await without("a.ts", TS, "value"), cut("\n  private value", "}\n\nfunction f"));
  assertEquals(await without("a.ts", TS, "f"), cut("function f(a: string)", "export const LIMIT"));
  assertEquals(await without("a.ts", TS, "LIMIT"), cut("export const LIMIT", "export const table"));
  assertEquals(await without("a.ts", TS, "table"), cut("export const table", "type Pair"));
  assertEquals(await without("a.ts", TS, "Pair"), cut("type Pair", "\nexport async"));
  assertEquals(await without("a.ts", TS, "last"), TS.slice(0, TS.indexOf("\nexport async")));
});

const PY = `#!/usr/bin/env python
import os

@decorator(
    a=1,
)
def f(
    x,
):
    """Text
with no indent
    """
    return x


class C(Base):
    size = 3

    # About g.
    @property
    async def g(self):
        if x:
            return "def h(self):"

    def h(self): return 1


class Empty:
    def only(self):
        return 1


LIMIT = [
    1,
]
`;

Deno.test("delete_symbol removes Python functions, classes, methods and variables", async () => {
  const cut = (from: string, to: string) => PY.slice(0, PY.indexOf(from)) + PY.slice(PY.indexOf(to));
  assertEquals(await without("a.py", PY, "f"), cut("@decorator", "class C"));
  assertEquals(await without("a.py", PY, "C"), cut("class C", "class Empty"));
  assertEquals(await without("a.py", PY, "C.g"), cut("    # About g", "    def h(self): return"));
  assertEquals(
    await without("a.py", PY, "C.size"),
    cut("    size", "    # About"),
  );
  assertEquals(
    await without("a.py", PY, "only"),
    PY.replace("    def only(self):\n        return 1\n", "    pass\n"),
  );
  assertEquals(await without("a.py", PY, "LIMIT"), PY.slice(0, PY.indexOf("\n\nLIMIT")));
});

const GO = `package a

// T is a type.
type T struct {
	A int // }
}

func (t *T) Get() interface{} {
	return \`}\`
}

func (u U) Get() int { return '}' }

func New[K any](a func(int) int) (*T, error) {
	return nil, nil
}

var limit = 3
`;

Deno.test("delete_symbol removes Go types, functions and variables and sees methods of one name", async () => {
  const cut = (from: string, to: string) => GO.slice(0, GO.indexOf(from)) + GO.slice(GO.indexOf(to));
  assertEquals(await without("a.go", GO, "T"), cut("// T is", "func (t *T)"));
  assertEquals(await without("a.go", GO, "New"), cut("func New", "var limit"));
  assertEquals(await without("a.go", GO, "limit"), GO.slice(0, GO.indexOf("\nvar limit")));
  assertStringIncludes(
    await without("a.go", GO, "Get"),
    "declared more than once, at lines 8 (func), 12 (func)",
  );
  assertEquals(await without("a.go", GO, "T.Get"), cut("func (t *T)", "func (u U)"));
});

const RUST = `/// Doc.
#[derive(Debug)]
pub struct S<'a> {
    name: &'a str,
}

impl<'a> S<'a> {
    pub fn get(&self) -> char {
        let r = r#"}"#; /* } /* } */ } */
        '{'
    }

    const N: usize = 1;
}

pub(crate) unsafe fn go() where u8: Copy {}
`;

Deno.test("delete_symbol removes Rust items and members of an impl", async () => {
  const cut = (from: string, to: string) => RUST.slice(0, RUST.indexOf(from)) + RUST.slice(RUST.indexOf(to));
  assertEquals(await without("a.rs", RUST, "S", "struct"), cut("/// Doc", "impl"));
  assertEquals(
    await without("a.rs", RUST, "S::get"),
    cut("    pub fn get", "    const N"),
  );
  assertEquals(await without("a.rs", RUST, "go"), RUST.slice(0, RUST.indexOf("\npub(crate)")));
});

const JAVA = `package a;

@Entity
public final class A extends B {
  private static final int LIMIT = 3;

  /* } */
  @Override
  public Map<String, List<Integer>> load(int a) throws X {
    call(a);
    if (a > 0) { return null; }
    return load(a - 1);
  }

  A(int x) { super(x); }
}

enum E { ONE, TWO }
`;

Deno.test("delete_symbol removes Java classes, methods and fields", async () => {
  const cut = (from: string, to: string) => JAVA.slice(0, JAVA.indexOf(from)) + JAVA.slice(JAVA.indexOf(to));
  assertEquals(await without("A.java", JAVA, "load"), cut("  /* } */", "  A(int x)"));
  assertEquals(await without("A.java", JAVA, "A.LIMIT"), cut("  private static", "  /* }"));
  assertEquals(await without("A.java", JAVA, "E"), JAVA.slice(0, JAVA.indexOf("\nenum")));
  assertEquals(await without("A.java", JAVA, "A", "class"), cut("@Entity", "enum E"));
});

const C = `#include <x.h>
#define MAX(a, b) \\
  ((a) > (b) ? (a) : (b))

static int count = 0;

/* Adds. */
static int add(int a,
               int b)
{
  return a + b; /* { */
}

int main(void) {
  return add(1, 2);
}

void Box::draw(int x) const { x = '}'; }
`;

Deno.test("delete_symbol removes C functions, variables, macros and C++ methods", async () => {
  const cut = (from: string, to: string) => C.slice(0, C.indexOf(from)) + C.slice(C.indexOf(to));
  assertEquals(await without("a.c", C, "add"), cut("/* Adds", "int main"));
  assertEquals(await without("a.c", C, "MAX"), cut("#define", "\nstatic int count"));
  assertEquals(await without("a.c", C, "count"), cut("static int count", "/* Adds"));
  assertEquals(await without("a.cpp", C, "Box::draw"), C.slice(0, C.indexOf("\nvoid Box")));
});

Deno.test("delete_symbol refuses what is ambiguous, absent or not separable", async () => {
  const text = "function f() {\n  function f() {}\n}\nconst a = 1, b = 2;\nlet c = 1; let d = 2;\n";
  assertStringIncludes(
    await without("a.js", text, "f"),
    "declared more than once, at lines 1 (function), 2 (function)",
  );
  assertStringIncludes(await without("a.js", text, "a"), "declares more than one name");
  assertStringIncludes(await without("a.js", text, "c"), "other code stands behind it on line 5");
  assertStringIncludes(await without("a.js", text, "zzz"), "no declaration of zzz was found");
  assertStringIncludes(await without("a.txt", text, "f"), "symbols of this kind of file are not known");
});
