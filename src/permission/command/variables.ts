import type { VariableAssignment } from "./types.ts";

/** Variables whose text a shell or another common program runs, or that bring code into every program. */
const CODE_VARIABLES = new RegExp(
  "^(?:PS[0-4]|PROMPT_COMMAND|BASH_ENV|ENV|BASH_(?:FUNC_.*|ALIASES|CMDS|LOADABLES_PATH)|SHELLOPTS|BASHOPTS|INPUTRC|FCEDIT|" +
    "EDITOR|VISUAL|(?:\\w+_)?PAGER|MANPAGER|\\w+_EDITOR|BROWSER|SHELL|(?:EX|VIM|GVIM|LUA_)INIT\\w*|MYVIMRC|LESS|LESSKEY\\w*|LESSEDIT|MORE|" +
    "MANOPT|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG\\w*|ALLOW_PROTOCOL)|" +
    "SSH_ASKPASS|SUDO_ASKPASS|LESSOPEN|LESSCLOSE|LD_\\w+|DYLD_\\w+|GCONV_PATH|RUSTC\\w*|CARGO_(?:BUILD|TARGET|ALIAS|HOST)_\\w+|" +
    "NODE_OPTIONS|NODE_REPL_EXTERNAL_MODULE|PYTHON(?:STARTUP|INSPECT|BREAKPOINT|HOME)|PERL5OPT|PERL5DB|RUBYOPT|JAVA_TOOL_OPTIONS|" +
    "_JAVA_OPTIONS|JDK_JAVA_OPTIONS|(?:GNU)?MAKEFLAGS|MAKEFILES|TAR_OPTIONS|RSYNC_\\w+|CVS_RSH|GOFLAGS|npm_config_\\w+|" +
    "NPM_CONFIG_\\w+|FZF_\\w+|OPENSSL_CONF|OPENSSL_ENGINES|GIT_CONFIG)$",
);
/** Values by which these variables switch off what they could start, or only say how to show something. */
const HARMLESS_VALUES: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/(?:EDITOR|PAGER|VISUAL|BROWSER)$/, /^(?:|:|(?:\/usr)?(?:\/bin\/)?(?:true|false|cat))$/],
  [/^SHELL$/, /^(?:\/usr)?\/bin\/(?:ba|da|z)?sh$/],
  [/^(?:LESS|MORE)$/, /^[-A-Za-z]*$/],
  [/^RUSTC\w*$/, /^(?:|sccache|rustc)$/],
  [/^CARGO_(?:TARGET_DIR|BUILD_(?:TARGET_DIR|JOBS|INCREMENTAL))$/, /^/],
  [/^GOFLAGS$/, /^(?:-(?:mod=\w+|v|race|count=\d+|tags=[\w,]+|buildvcs=\w+|trimpath|p=\d+)\s*)*$/],
  [/^(?:GNU)?MAKEFLAGS$/, /^-?[jks]?\d*$/],
  [
    /^NODE_OPTIONS$/,
    /^(?:--(?:max[-_]old[-_]space[-_]size=\d+|no-warnings|no-deprecation|openssl-legacy-provider|experimental-vm-modules)\s*)*$/,
  ],
  [
    /^(?:npm_config|NPM_CONFIG)_(?!.*(?:shell|editor|viewer|git|node|browser|userconfig|globalconfig)\w*$)/i,
    /^/,
  ],
  [/^RSYNC_(?:PASSWORD|PROXY)$/, /^/],
];
/** Variables that name the program a build or a script uses for a purpose. */
const PROGRAM_VARIABLE =
  /^(?:(?:HOST|BUILD|TARGET)_?)?(?:CC|CXX|CPP|LD|AR|AS|NM|FC|RANLIB|STRIP|OBJCOPY|YACC|LEX|AWK|SED|INSTALL|PYTHON|NODE|RUBY|PERL|MAKE|CMAKE\w*|RM|CP|MV|LINKER|PROVE|JAVA|CARGO|RUSTDOC|GO)$/;
/** Variables that say where programs, settings or parts of programs are looked for. */
const PROGRAM_LOOKUP =
  /^(?:PATH|HOME|ZDOTDIR|XDG_\w+|GIT_(?:DIR|WORK_TREE|COMMON_DIR)|PYTHON\w*PATH|NODE_PATH|PERL5?LIB|RUBYLIB|LUA_C?PATH|CLASSPATH|GOPATH|GOBIN|CARGO_HOME|DENO_DIR)$/;

/** Reports whether giving this variable a value can make something run that the line does not name. */
export function setsCode(name: string, value: string | undefined): boolean {
  if (!CODE_VARIABLES.test(name)) return false;
  return value === undefined ||
    !HARMLESS_VALUES.some(([names, values]) => names.test(name) && values.test(value));
}

/** Reports whether a program is given as editor or pager to have none. */
export function isIdleProgram(value: string): boolean {
  return /^(?:|:|(?:\/usr)?(?:\/bin\/)?(?:true|false|cat))$/.test(value);
}

export function codeReason(name: string): string {
  return `it sets ${name}, which can make other programs run something`;
}

/** Reports whether the variable's value is a program that others may start. */
export function namesProgram(name: string): boolean {
  return PROGRAM_VARIABLE.test(name);
}

/** Reports whether a variable decides which files programs run or take their settings from. */
export function affectsProgramLookup(name: string): boolean {
  return PROGRAM_LOOKUP.test(name);
}

/** Variables that only say how a program reports or which of its usual builds it makes. */
const HARMLESS =
  /^(?:[a-z][a-z0-9_]*|CI|DEBUG|VERBOSE|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|NODE_ENV|RUST_LOG|RUST_BACKTRACE|GOOS|GOARCH|CGO_ENABLED|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PORT|HOST|LOG_LEVEL|PUPPETEER_SKIP_DOWNLOAD|HUSKY|I)$/;

/** Says why what is set in front of a command keeps rules from covering it; having no pager is no reason. */
export function riskyPrefix(assigns: readonly VariableAssignment[]): string | undefined {
  const idle = ({ name, value }: VariableAssignment) =>
    /(?:PAGER|EDITOR|VISUAL)$/.test(name) && isIdleProgram(value);
  return riskyVariable(assigns.filter((each) => !idle(each)).map(({ name }) => name));
}

/** Says why a variable in front of a command, or set for all later ones, keeps rules from covering it. */
export function riskyVariable(names: readonly string[]): string | undefined {
  const name = names.find((each) => !HARMLESS.test(each));
  return name === undefined ? undefined : `it sets ${name}`;
}

/** The same for assignments of the shell itself: a variable that is not exported changes no other program. */
export function riskyAssignment(
  names: readonly string[],
  env: Readonly<Record<string, string>>,
): string | undefined {
  return riskyVariable(
    names.filter((name) =>
      name in env || CODE_VARIABLES.test(name) || PROGRAM_VARIABLE.test(name) || PROGRAM_LOOKUP.test(name) ||
      /^(?:IFS|BASH\w*|GLOBIGNORE|POSIXLY_CORRECT|CDPATH)$/.test(name)
    ),
  );
}
