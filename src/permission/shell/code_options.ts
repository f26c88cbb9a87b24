/** Long options that name a program or hand over code, for programs that also take them shortened. */
export const CODE_WORDS: Readonly<Record<string, readonly string[]>> = {
  tar: [
    "checkpoint-action",
    "to-command",
    "use-compress-program",
    "rsh-command",
    "info-script",
    "new-volume-script",
  ],
  sort: ["compress-program"],
  split: ["filter"],
  make: ["eval", "environment-overrides"],
  npm: ["script-shell", "call", "node-options", "shell"],
  npx: ["script-shell", "call", "node-options", "shell"],
  pnpm: ["script-shell", "shell-mode"],
  install: ["strip-program"],
  sdiff: ["diff-program"],
  diff3: ["diff-program"],
  svn: ["diff-cmd", "diff3-cmd", "editor-cmd", "config-option", "config-dir"],
  hg: ["config", "config-file"],
  fzf: ["preview", "bind"],
  wget: ["use-askpass", "execute"],
  man: ["pager", "html"],
  zip: ["unzip-command"],
  rsync: ["rsh", "rsync-path", "remote-option"],
};

/** Options that hand code to an interpreter, by program. */
export const CODE_OPTIONS: readonly (readonly [programs: RegExp, options: RegExp])[] = [
  [/^(?:python|pypy|ipython)[\d.]*$/, /^-[A-Za-z]*c/],
  [/^perl[\d.]*$/, /^-(?!I)[A-Za-z0-9]*[eEM]/],
  [/^ruby[\d.]*$/, /^-(?!I)[A-Za-z0-9]*[er]/],
  [
    /^(?:node|nodejs|bun|tsx|ts-node)$/,
    /^(?:-[A-Za-z]*[epr]|--(?:eval|print|require|import|loader|experimental-loader).*)$/,
  ],
  [
    /^php[\d.]*$/,
    /^-[rBREa]|^--(?:run|process|interactive)|auto_(?:ap|pre)pend_file|^-d?extension=|^-d?zend_extension=/,
  ],
  [/^lua(?:jit)?[\d.]*$/, /^-[el]/],
  [/^(?:Rscript|R)$/, /^-e|^--(?:expr|file).*/],
  [/^julia$/, /^-[eEL]|^--(?:eval|print|load).*/],
  [
    /^(?:ghc|runghc|racket|groovy|scala|elixir|guile|scheme|clojure|clj|swift|jshell|nu|elvish|xonsh|fish|tcsh|csh)$/,
    /^-[A-Za-z]*[ecEr]|^--(?:eval|command).*/,
  ],
  [/^(?:erl|sbcl|ecl|clisp|emacs|octave|maxima)$/, /^-{1,2}(?:eval|x|e|run|f|l|load|script|batch).*/],
  [/^(?:pwsh|powershell)(?:\.exe)?$/i, /./],
  [/^(?:vim|vi|nvim|ex|view|gvim|vimdiff)$/, /^(?:-[A-Za-z]*[cSsEul]|\+.*|--cmd.*)$/],
  [/^(?:g|b)?tar$|^bsdtar$/, /^-[A-Za-z]*[IF]/],
  [/^rsync$/, /^-[A-Za-z]*[eM]/],
  [/^(?:scp|sftp)$/, /^-[So]/],
  [/^zip$/, /^-[A-Za-z]*T/],
  [/^(?:rg|ripgrep)$/, /^--(?:pre|hostname-bin)(?:=|$)/],
  [/^wget$/, /^-e/],
  [/^(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)$/, /^-(?:wrapper|fplugin|specs|B)/],
  [/^man$/, /^-[A-Za-z]*[PH]/],
  [/^go$/, /^-{1,2}(?:exec|toolexec|vettool)(?:=|$)/],
  [/^cargo$/, /^--config/],
  [/^(?:dc|m4|gdb|tclsh|wish|expect|ftp|ed|red)$/, /./],
  [/^deno$/, /^(?:eval|repl|-|--eval(?:=.*)?|data:.*)$/],
  [/^(?:less|more|most|pg)$/, /^\+(?!\d*[gGF]?$)/],
  [/^socat$/, /\b(?:exec|system|shell):/i],
  [/^(?:nc|ncat|netcat)$/, /^-[A-Za-z]*[ec]|^--(?:exec|sh-exec|lua-exec)/],
  [/^(?:swipl|gprolog|prolog)$/, /^-{1,2}[gtf]/],
  [
    /^(?:gnuplot|ocaml|utop|raku|perl6|iex|mongo|mongosh|hy|janet|fennel|ghci|gforth|bpython|ptpython|zx)$/,
    /^-{1,2}(?:e|c|eval|command)/,
  ],
  [/^dpkg$/, /^--(?:pre-invoke|post-invoke|status-logger)/],
  [/^(?:apt|apt-get|aptitude)$/, /^-o|^--option|Invoke/],
  [/^(?:cmake|ctest)$/, /^(?:-P|--build-and-test|--script)$/],
  [/^pytest$/, /^-p|^--(?:pdbcls|rootdir|confcutdir)/],
];

/** Interpreters that run what arrives on standard input when no file is named. */
export const STDIN_READERS =
  /^(?:python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|bun|deno|php[\d.]*|lua(?:jit)?[\d.]*|R|julia|fish|tcsh|csh|nu|osascript|ed|red|ex|vi|vim|gdb|lldb|dc|m4|tclsh|irb|ghci|guile|sbcl|jshell|ftp|sftp|ssh|octave|xonsh|elvish|at|batch|script|newgrp|su|unshare|nsenter|gnuplot|ocaml|utop|iex|raku|swipl|gforth|mongo|mongosh|bpython|ptpython)$/;

/** Options of interpreters that take no further word, so that the next plain word is the script. */
export const FLAG_OPTIONS: Readonly<Record<string, RegExp>> = {
  python: /^-[bBdEIOPqsSuvR]+$/,
  perl: /^-[wWtTuUlnpaS]+$/,
  ruby: /^-[wWlnpasv]+$/,
  node: /^--(?:no-\S+|trace-\S+|enable-\S+|inspect(?:-brk)?|expose-gc|use-\S+|harmony\S*|test|watch|check)$/,
  deno: /^(?:-[AqrRWNESI]+|--(?:allow-\S+|deny-\S+|no-\S+|quiet|unstable\S*|check|cached-only|watch))$/,
  any: /^-[qsvw]$/,
};

/** Modules of Python that run code they are handed. */
export const CODE_MODULES = /^(?:timeit|code|asyncio|pdb|IPython|bpython|ptpython|idlelib)$/;
