/**
 * Random lines that look read-only: programs that print, with options, operands, wrappers and redirections of
 * which some write. The gate classifies the lines, and a recording jail shows what they changed.
 */
import { EXPRESSIONS, GIT, OWN, PROGRAMS } from "./reader_words.ts";

const FILES = [
  "a.txt",
  "b.txt",
  "names.txt",
  "data.csv",
  "data.json",
  "src/a.ts",
  "two/x",
  "two/y",
  "package.json",
  "log.gz",
  "dist.tar",
  "Makefile",
  "run.sh",
];
const PLACES = [
  "src",
  ".",
  "two",
  "two/*",
  "*.txt",
  "src/*",
  "{a,b}.txt",
  "~/notes",
  "/etc/passwd",
  "..",
  "/dev/null",
];
const TARGETS = [
  "out",
  "victim",
  "-",
  "/tmp/out",
  "~/out",
  "new/out",
  "--",
  "w f",
  "version",
  "+w",
  "@a.txt",
  "1",
];
const LONG =
  ("output output=out in-place in-place=.b include=a.txt exec=./run.sh file=out log-file=out log=out write save=out compile set " +
    "pre=./run.sh search-zip delete backup debug=out update cache version help color=always color=never all list recursive null quiet " +
    "sort=size files0-from=a.txt compress-program=./run.sh temporary-directory=src directory=new append follow format=%s expression=w\\ out " +
    "dump-variables pretty-print profile sandbox null-data separate posix unbuffered line-buffered time-style=iso si inode max-depth=1 " +
    "exclude=x remove-files overwrite to-stdout extract create config=a.txt no-pager output-directory=new ext-diff textconv stat name-only")
    .split(" ");
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const REDIRECTS = [
  ...[
    "> /dev/null",
    "2>/dev/null",
    "2>&1",
    "&> /dev/null",
    ">&2",
    "< a.txt",
    "<<< text",
    "> /dev/stderr",
    "2>&-",
  ],
  ...[
    "> out",
    ">> a.txt",
    ">| out",
    "&> out",
    ">& out",
    "<> new",
    "2> err",
    "> /dev/fd/1",
    ">> /dev/null",
    "3> out",
  ],
];
const WRAPS = [
  ...[
    "time %",
    "time -p %",
    "time -o out %",
    "env %",
    "env A=1 %",
    "env -i %",
    "nice %",
    "nice -n 5 %",
    "timeout 5 %",
    "stdbuf -oL %",
  ],
  ...[
    "command %",
    "builtin %",
    "exec %",
    "nohup %",
    "setsid %",
    "flock out %",
    "flock a.txt %",
    "ionice %",
    "chrt 0 %",
    "taskset 1 %",
  ],
  ...[
    "xargs %",
    "echo a.txt | xargs %",
    "echo a.txt | xargs -I{} % {}",
    "ls two | xargs -n1 %",
    "find . -name '*.txt' -exec % {} +",
  ],
  ...[
    "find src -type f -exec % {} \\;",
    "echo out | xargs %",
    "echo -- -o out | xargs %",
    "printf '%s' out | xargs -0 %",
  ],
  ...[
    "LC_ALL=C %",
    "A=1 %",
    "PAGER=./run.sh %",
    "GIT_PAGER=cat %",
    "PATH=.:$PATH %",
    "TMPDIR=src %",
    "HOME=src %",
    "POSIXLY_CORRECT=1 %",
  ],
  ...[
    "LESSOPEN='|./run.sh' %",
    "GIT_TRACE=$PWD/out %",
    "GIT_DIR=new %",
    "RIPGREP_CONFIG_PATH=a.txt %",
    "AWKPATH=. %",
    "TIME=%e %",
  ],
];
const JOINS = [
  ...[
    "% && %",
    "% || %",
    "% ; %",
    "% | %",
    "% | head -3",
    "% | sort",
    "% | wc -l",
    "% | cat",
    "( % )",
    "{ % ; }",
    "! %",
    "% | xargs ls",
  ],
  ...[
    "echo $(%)",
    'echo "$(%)"',
    "cat <(%)",
    "cd src && %",
    "cd ~ && %",
    "cd two; %",
    "X=1; %",
    "x=out; % $x",
    "x=-o; % $x out",
  ],
  ...[
    "for f in *.txt; do % $f; done",
    "for f in -o out; do % $f; done",
    "if %; then echo; fi",
    "while false; do %; done",
    "sh -c '%'",
  ],
  ...[
    "bash -c '%'",
    "f() { %; }; f",
    "set -- out; % $1",
    "% & wait",
    "true && %",
    "[ -f a.txt ] && %",
    "eval '%'",
    "% | tee /dev/null",
  ],
  ...[
    "case a in a) %;; esac",
    "% > >(cat)",
    "cat <<E\n$(%)\nE",
    "shopt -s nullglob; %",
    "export A=1; %",
    "% | tee out",
    "% | while read l; do :; done",
  ],
];

type Pick = <T>(list: readonly T[]) => T;

const BUILTINS = new Set(
  (". source alias cd command compgen declare dirs echo env exit export fc getopts hash history jobs let local mapfile popd printf pushd " +
    "read readarray return set shopt test time trap type ulimit umask unset wait : [ [[").split(" "),
);

/** A line with a missing program would prove nothing. */
function isHere(name: string): boolean {
  return BUILTINS.has(name) || ["/usr/bin", "/bin"].some((directory) => {
    try {
      return Deno.statSync(`${directory}/${name}`).isFile;
    } catch {
      return false;
    }
  });
}

const HERE = PROGRAMS.filter(isHere);
const OWN_HERE = OWN.filter(([name]) => isHere(name));

/** One command without wrappers. */
function command(pick: Pick, random: () => number): string {
  const roll = random();
  if (roll < 0.2) return `git ${pick(GIT)} ${words(pick, random, 2)}`;
  if (roll < 0.3) {
    return `find ${pick(PLACES)} ${
      Array.from({ length: 1 + random() * 3 }, () => pick(EXPRESSIONS)).join(" ")
    }`;
  }
  if (roll < 0.55) {
    const [name, forms] = pick(OWN_HERE);
    return `${name} ${pick(forms)}${random() < 0.5 ? ` ${words(pick, random, 2)}` : ""}`;
  }
  const name = pick(HERE);
  return random() < 0.03 ? `${name} version` : `${name} ${words(pick, random, 3)}`;
}

/** Options and operands, most of them plausible. */
function words(pick: Pick, random: () => number, most: number): string {
  const list = Array.from({ length: Math.floor(random() * (most + 1)) }, () => {
    const roll = random();
    if (roll < 0.18) return `-${pick([...LETTERS])}`;
    if (roll < 0.23) return `-${pick([...LETTERS])}${pick([...LETTERS])}`;
    if (roll < 0.26) return `-${pick([...LETTERS])} ${pick(TARGETS)}`;
    if (roll < 0.29) return `-${pick([...LETTERS])}out`;
    if (roll < 0.38) return `--${pick(LONG)}`;
    if (roll < 0.75) return pick(FILES);
    return roll < 0.88 ? pick(PLACES) : pick(TARGETS);
  });
  return list.join(" ");
}

/** An endless generator of lines. */
export function* makeReaderLines(random: () => number): Generator<string, never> {
  const pick: Pick = (list) => list[Math.floor(random() * list.length)] as (typeof list)[number];
  for (;;) {
    let line = command(pick, random);
    if (random() < 0.15) line = pick(WRAPS).replace("%", () => line);
    if (random() < 0.2) line += ` ${pick(REDIRECTS)}`;
    if (random() < 0.25) {
      line = pick(JOINS).replace(
        /%(?! ')/g,
        () => line.includes("'") ? command(pick, random).replaceAll("'", "") : line,
      );
    }
    yield line;
  }
}
