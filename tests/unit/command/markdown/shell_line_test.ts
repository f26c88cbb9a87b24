/** Arguments of a Markdown command stay arguments in its lines of the shell. */
import fc from "fast-check";
import { fillInLine, UnsafeArgument } from "../../../../src/command/markdown/template.ts";
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { SEED } from "../../../support/seed.ts";

const ATTACKS = [
  "; touch pwned",
  "$(touch pwned)",
  "`touch pwned`",
  "x\ntouch pwned\n",
  "' ; touch pwned ; '",
  '" ; touch pwned ; "',
  "\\' ; touch pwned ; \\\"",
  "a && touch pwned || touch pwned | touch pwned & touch pwned",
  "> pwned",
  "<(touch pwned)",
  "a[$(touch pwned)]",
  "${x:=$(touch pwned)}",
  ") ; touch pwned ; (",
  "} ; touch pwned ; {",
  "# x\ntouch pwned",
  "!touch pwned",
];

const TEMPLATES = [
  "echo $1",
  "echo $ARGUMENTS",
  'echo "$1" "$ARGUMENTS"',
  "echo '$1' '$ARGUMENTS'",
  "echo --name=$1 x$ARGUMENTS",
  'echo "$(echo "$ARGUMENTS")" $(echo $1)',
  "(echo $1); { echo $ARGUMENTS; }",
  'echo "a ${HOME} $ARGUMENTS" ${HOME}$1',
  "echo \\$1 \\\\$ARGUMENTS",
  'echo "\\$ARGUMENTS" "\\"$ARGUMENTS"',
  "echo $((1 + $1)) $(( ((1)) + $ARGUMENTS))",
  "(( x = $ARGUMENTS ))",
  "echo ${x:-$ARGUMENTS}",
  "echo $'a $ARGUMENTS'",
  "echo x # it's $ARGUMENTS",
  "echo it\\'s $ARGUMENTS",
];

Deno.test("an argument is never executed, for any content and position", async () => {
  await using temp = await makeTempDir();
  let refused = 0;
  let run = 0;
  for (const template of TEMPLATES) {
    const lines = ATTACKS.flatMap((attack) => {
      try {
        return [fillInLine(template, attack)];
      } catch (error) {
        if (!(error instanceof UnsafeArgument)) throw error;
        refused++;
        return [];
      }
    });
    for (const line of lines) {
      run++;
      const shell = new Deno.Command("bash", { args: ["-c", line], cwd: temp.path, stderr: "null" });
      await shell.output();
      assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), [], line);
    }
  }
  assertEquals(run > 100 && refused > 50, true, `${run} lines were run, ${refused} refused`);
});

Deno.test("words are passed as typed", async () => {
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) =>
    !/[\s\0~*?[\]]/.test(text) && text.isWellFormed()
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 4 }), async (words) => {
      const args = words.join(" ");
      const line = fillInLine("printf '%s\\n' $1 $ARGUMENTS \"$ARGUMENTS\" '$ARGUMENTS'", args);
      const { stdout } = await new Deno.Command("bash", { args: ["-c", line] }).output();
      assertEquals(new TextDecoder().decode(stdout), `${[words[0], ...words, args, args].join("\n")}\n`);
    }),
    { numRuns: 40, seed: SEED },
  );
});

Deno.test("plain words, patterns and ~ are left to the shell, and an empty list is none", () => {
  assertEquals(fillInLine("lint $ARGUMENTS, $2 $$HOME", "src/*.ts ~/x"), "lint src/*.ts ~/x, ~/x $HOME");
  assertEquals(fillInLine("ls $1 '$1' \"$ARGUMENTS\"", ""), "ls  '' \"\"");
  assertEquals(fillInLine("seq $((1 + $1))", "41"), "seq $((1 + 41))");
  assertThrows(() => fillInLine("seq $((1 + $1))", "a[$(id)]"), UnsafeArgument);
});
