/**
 * Random shell lines around a fake program `zap`, independent of the gate: the lines use the syntax by which
 * a shell runs commands, and a real shell shows which of them ran it.
 */

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const NAMES = [
  ..."zap 'zap' \"zap\" z\"a\"p \\zap za''p $'zap' $'\\x7aap' $\"zap\" z\\\nap {zap,now} \"$BIN\"/zap $BIN/zap"
    .split(" "),
  "$BIN/z?p",
  "$BIN/z[a]p",
  "$BIN/../bin/zap",
  "${nothing:-zap}",
  "$(echo zap)",
  "`echo zap`",
  "$nothing zap",
  "${nothing}zap",
  '"$(printf zap)"',
  "zap$nothing",
  "$(command -v zap)",
];

/** Programs that run their arguments. */
const PREFIXES = [
  "A=1 %",
  "A=1 B='c d' %",
  "env %",
  "env -u A %",
  "env -i PATH=$PATH %",
  "env A=1 %",
  "nice %",
  "nice -n 1 %",
  "nohup %",
  "timeout 5 %",
  "timeout -k 1 5s %",
  "command %",
  "command -p env PATH=$PATH %",
  "builtin command %",
  "(exec %)",
  "stdbuf -o0 %",
  "setsid -w %",
  "xargs % </dev/null",
  "echo x | xargs %",
  "echo x | xargs -I{} % {}",
  "find . -maxdepth 0 -exec % \\;",
  "find . -maxdepth 0 -exec % {} +",
  ">out %",
  "2>&1 %",
  "<&- %",
  "time %",
  "time -p %",
  "! %",
  "flock lock$RANDOM %",
];

/** Positions in which a command runs; `%` is the command, `Q` the same as one quoted word. */
const PLACES = [
  "true && %",
  "false || %",
  "true; %",
  "true\n%",
  "true & %",
  "(%)",
  "( (%) )",
  "{ %; }",
  "if true; then %; fi",
  "if false; then :; else %; fi",
  "if %; then :; fi",
  "for i in 1; do %; done",
  "for i in $(%); do :; done",
  "for ((i=0;i<1;i++)); do %; done",
  "while %; do break; done",
  "until %; do break; done",
  "case a in b) :;; a) %;; esac",
  "case $(%) in a) :;; esac",
  "f() { %; }; f",
  "function f { %; }; f",
  "f() ( % ); f x",
  'g() { "$@"; }; g %',
  "echo $(%)",
  'echo "$(%)"',
  'echo "a $(% ) b"',
  "echo $(echo $(%))",
  "cat <(%)",
  "cat < <(%)",
  "echo x > >(%); wait",
  "cat <<E\n$(%)\nE",
  "cat <<-E\n\t$(%)\nE",
  "cat <<< $(%)",
  "x=$(%)",
  "x=$(%) true",
  "x=(1 $(%))",
  "declare x=$(%)",
  'export x="$(%)"',
  "echo ${y:-$(%)}",
  'echo "${y:-$(%)}"',
  ": ${z:=$(%)}",
  "echo $(( $(%; echo 1) + 1 ))",
  "(( q = $(%; echo 1) ))",
  "[[ -n $(%) ]]",
  "[[ a == $(%) ]]",
  '[ "$(%)" ]',
  'echo > "out$(%)"',
  "eval Q",
  'eval "$(echo Q)"',
  "bash -c Q",
  "bash -ec Q",
  "sh -c Q",
  "env bash -c Q",
  "timeout 5 bash -c Q",
  "trap Q EXIT",
  "echo Q | bash",
  "bash <<< Q",
  "bash <<'E'\n%\nE",
  "bash -s <<'E'\n%\nE",
  "cat <<'E' | bash\n%\nE",
  "coproc { %; }; wait",
  "% & wait",
  "% | cat",
  "echo a | %",
  "echo a | while read l; do %; done",
  "echo a | { %; }",
  "echo Q > s.sh; bash s.sh",
  "echo Q > s.sh; . ./s.sh",
  "echo Q > s.sh && chmod +x s.sh && ./s.sh",
  'x=Q; eval "$x"',
  'x=Q; bash -c "$x"',
  "printf '%s' Q | xargs -0 bash -c",
  "find . -maxdepth 0 -exec bash -c Q \\;",
  "mapfile -t a < <(%)",
  "read v < <(%)",
  "awk 'BEGIN { system(\"'Q'\") }'",
  "perl -e 'system($ARGV[0])' Q",
  "x='a[$(%)]'; echo $((x))",
  "PS4='$(%)' bash -xc :",
  "alias zz=Q; eval zz",
  "true #\n%",
  "echo a\\\n; %",
  "echo 'a' \"b\" ; %",
  "echo 'it'\\''s' && %",
];

/** Lines in which the command is only text. */
const TEXTS = [
  "echo Q",
  "echo a Q b",
  "printf '%s\\n' Q",
  "cat <<'E'\n%\nE",
  "# %",
  "true # %",
  "true; # %",
  "grep Q /dev/null",
  ": Q",
  "x=Q",
  'x=Q; echo "$x"',
  "git commit -m Q",
  "case Q in a) :;; esac",
  "[[ Q == a ]]",
  'echo "zap now"',
  "echo zap now",
  "cat <<E\nzap now\nE",
  "for i in zap now; do echo $i; done",
];

export interface Line {
  readonly text: string;
  readonly kind: "live" | "text" | "noise";
}

/** `count` lines: commands in nested positions, commands as text, and token noise. */
export function makeLines(count: number, random: () => number): Line[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const fill = (template: string, command: string) =>
    template.replaceAll("%s", "\0").replaceAll("%", () => command).replaceAll("Q", () => quote(command))
      .replaceAll("\0", "%s");
  const lines: Line[] = [];
  for (let i = 0; i < count; i++) {
    const share = i % 10;
    if (share === 8) {
      const text = pick([
        "zap now",
        "zap",
        "zap now; zap",
        "true && zap now",
        "(zap)",
        "sudo zap now",
        "a | zap",
      ]);
      lines.push({ kind: "text", text: fill(pick(TEXTS), text) });
    } else if (share === 9) {
      lines.push({ kind: "noise", text: noise(pick, random) });
    } else {
      let command = `${pick(NAMES)} now`;
      if (random() < 0.5) command = fill(pick(PREFIXES), command);
      for (let depth = Math.floor(random() * 3); depth >= 0; depth--) command = fill(pick(PLACES), command);
      lines.push({ kind: "live", text: command });
    }
  }
  return lines;
}

const TOKENS = [
  "zap",
  "zap now",
  "true",
  "false",
  "echo",
  "x",
  "a=b",
  "{",
  "}",
  "(",
  ")",
  "$(",
  "`",
  '"',
  "'",
  "\\",
  "\n",
  ";",
  "&&",
  "||",
  "|",
  "&",
  "<<E",
  "E",
  "<",
  ">",
  "#",
  "!",
  "$x",
  "${x:-",
  "if",
  "then",
  "fi",
  "do",
  "done",
  "case",
  "esac",
  "in",
  "[[",
  "]]",
  "((",
  "))",
  "*",
  "~",
  "$'",
  "\\\n",
  ";;",
];

function noise(pick: <T>(list: readonly T[]) => T, random: () => number): string {
  let text = "";
  const length = 3 + Math.floor(random() * 8);
  for (let i = 0; i < length; i++) text += pick(TOKENS) + (random() < 0.75 ? " " : "");
  return text;
}
