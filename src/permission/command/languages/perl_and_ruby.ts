import { calls, find, type Language, oneOf, PLAIN, PLAIN_WORDS, shellText, words } from "./language.ts";

const PERL_RUN = String.raw`(?<![\w$@%&>:])(?:system|exec)\s*\(?`;
const END = String.raw`\)?\s*(?=;|$|\n|\})`;

/** Names, operators and flags by which anything can be run. */
const PERL_HIDES = new RegExp(
  "`|" + String.raw`\b` + oneOf(
    String
      .raw`system exec qx eval require fork syscall readpipe dbmopen CORE AUTOLOAD BEGIN ` +
      String.raw`import can Inline Symbol`,
  ) + String.raw`\b|\bsub\s+\w+\s*:|\bdo\b\s*[^{\s]|@ARGV|\bI(?:PC|O)::|` +
    String.raw`\bs\s*([^\w\s])(?:(?!\1).)*\1(?:(?!\1).)*\1\w*e\w*e|[}\])>]\s*\w*e\w*e\w*(?=\s*;|\s*$)|` +
    String.raw`\(\?\??\{|->\s*[$@&{(]|&\s*[$\{]|` +
    String.raw`\bopen\b(?!\s*\(?\s*(?:my\s+)?[$\w]+\s*,\s*["'][<>])|\buse\s+(?!` + oneOf(
      "strict warnings utf8 POSIX List::Util Data::Dumper JSON::PP Time:: File::Basename " +
        "File::Spec File::Find " +
        "Getopt:: feature v?5",
    ) + ")",
);

export const PERL: Language = {
  calls: [
    [calls(String.raw`${PERL_RUN}\s*${PLAIN}\s*${END}`), shellText],
    [calls(PERL_RUN + PLAIN_WORDS + END), words],
  ],
  hides: (left) => find(PERL_HIDES, left),
};

const RUBY_RUN = String.raw`(?<![\w.$@:])(?:system|exec|spawn)\s*\(?`;

/** Names and signs by which anything can be run. */
const RUBY_HIDES = new RegExp(
  "`|%x|" + String.raw`\b` + oneOf(
    "system exec spawn fork eval instance_eval class_eval module_eval instance_exec class_exec " +
      "send public_send " +
      String
        .raw`__send__ method methods popen\w* Open3 load Kernel Process PTY binding ` +
      String.raw`TOPLEVEL_BINDING const_get ` +
      "define_method ObjectSpace Marshal YAML require_relative autoload trap at_exit syscall " +
      "Fiddle IO test callcc " +
      String.raw`URI to_proc intern instance_method\w* define_singleton_method`,
  ) + String.raw`\b|\(\s*&(?!:)|(?<!\bFile\.)\bopen\b|\brequire\b(?!\s*\(?\s*["']` +
    oneOf("json set time date csv pp fileutils securerandom digest") + String.raw`["'])`,
);

export const RUBY: Language = {
  calls: [
    [calls(String.raw`${RUBY_RUN}\s*${PLAIN}\s*${END}`), shellText],
    [calls(RUBY_RUN + PLAIN_WORDS + END), words],
  ],
  hides: (left) => find(RUBY_HIDES, left),
};
