import { isKnown } from "../../../rule/mod.ts";
import type { Program } from "../program.ts";

const RG_LONG =
  "ignore-case smart-case case-sensitive fixed-strings line-number no-line-number with-filename " +
  "no-filename " +
  "files files-with-matches files-without-match count count-matches only-matching hidden " +
  "no-ignore no-ignore-vcs " +
  "no-ignore-parent follow invert-match word-regexp line-regexp multiline multiline-dotall pcre2 " +
  "passthru quiet stats " +
  "json column heading no-heading color= colors= type= type-not= type-list type-add= glob= " +
  "iglob= max-count= max-depth= " +
  "max-columns= max-columns-preview max-filesize= after-context= before-context= context= " +
  "replace= regexp= file= " +
  "encoding= engine= sort= sortr= threads= trim null null-data vimgrep pretty no-messages text " +
  "binary unrestricted " +
  "one-file-system path-separator= no-config version help";

/** Options of xxd are whole words, and its second operand is a file it writes. */
const XXD = /^-(?:a|autoskip|b|bits|C|e|E|EBCDIC|i|include|p|ps|plain|postscript|u|z|[cglson]\d*)$/;

/** Options of openssl that only say what to print and what to read. */
const OPENSSL =
  /^(?!-)|^-(?:in|inform|noout|text|subject|issuer|dates|enddate|startdate|fingerprint|serial|pubkey|purpose|checkend|nameopt|ext|hex|r|binary|a|v|sha\d+|md5)$/;
/** No file with more words in it. */
const NO_LIST = /^[^@]/;

/** Programs that only read and print. */
export const READERS: readonly Program[] = [
  {
    names: "cat head tail nl tac rev od hexdump strings cut wc cmp comm paste fold fmt expand " +
      "unexpand column stat " +
      "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum jq zcat bzcat " +
      "xzcat ls realpath readlink " +
      "look tsort join diff",
    files: "reads",
    readOnly: true,
  },
  { names: "du", files: "reads", readOnly: true, deep: true },
  {
    names: "pwd true false : [ test which type df whoami id uname nproc uptime basename dirname tr " +
      "seq sleep echo " +
      "printenv groups getconf locale ps free cal factor numfmt expr who users tty logname pgrep " +
      "pidof lscpu whereis locate plocate getent",
    readOnly: true,
  },
  { names: "grep egrep fgrep zgrep", files: "searches", readOnly: true, offers: "." },
  {
    names: "ag ack",
    files: "searches",
    readOnly: {
      options:
        "acFhHiklLnQrRsSuvwA:B:C:G:m: ignore= ignore-dir= type= hidden nobreak nogroup nocolor color column literal " +
        "count files-with-matches",
    },
  },
  {
    names: "rg ripgrep",
    files: "searches",
    deep: true,
    code: /^--(?:pre|hostname-bin)(?:=|$)/,
    readOnly: {
      options: `acFhHiIlLnNopPqsSuUvVwx0.e:f:g:m:A:B:C:j:r:t:T:E:M:d:# ${RG_LONG}`,
    },
    offers: ".",
  },
  {
    names: "sort gsort",
    files: "reads",
    outputs: "-o --output",
    codeLong: "compress-program",
    readOnly: {
      options:
        "bcCdfghimMnrRsuVzk:t:S: ignore-leading-blanks dictionary-order ignore-case general-numeric-sort " +
        "ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort= " +
        "version-sort check=? " +
        "debug key= merge stable field-separator= parallel= unique zero-terminated buffer-size=",
    },
  },
  {
    names: "uniq",
    files: "reads",
    readOnly: {
      options: "cdDuizf:s:w:# count repeated all-repeated=? skip-fields= ignore-case skip-chars= unique " +
        "zero-terminated " +
        "check-chars= group=?",
      most: 1,
    },
  },
  {
    names: "xxd",
    files: "reads",
    read: ({ args }) => {
      // Behind the first operand every word is one, whatever it looks like.
      let at = 0;
      while (at < args.length && XXD.test(args[at] ?? "")) at += /^-[cglson]$/.test(args[at] ?? "") ? 2 : 1;
      const operands = args.slice(at);
      return { readOnly: args.every(isKnown) && operands.length <= 1 && !/^-./.test(operands[0] ?? "") };
    },
  },
  {
    names: "tree",
    files: "reads",
    deep: true,
    outputs: "-o",
    readOnly: {
      options: "adlfxpsughDFiqNQtUrvcCnSAJXL:P:I:H:T: dirsfirst noreport charset= filelimit= gitignore " +
        "prune du si " +
        "inodes device sort= timefmt= ignore-case matchdirs metafirst filesfirst",
    },
    offers: ".",
  },
  {
    names: "file",
    files: "reads",
    readOnly: {
      options:
        "bciIkLhNnrsv0em:F:P: brief mime mime-type mime-encoding dereference no-dereference separator=",
    },
  },
  {
    names: "less",
    files: "reads",
    code: /^\+(?!\d*[gGF]?$)/,
    readOnly: { options: "eEFgGiIKLmMnNqQrRsSuUwWXx:z:j:h:", operands: /^(?!\+)/ },
  },
  {
    names: "more most pg",
    files: "reads",
    code: /^\+(?!\d*[gGF]?$)/,
    readOnly: { options: "dflpcsun:", operands: /^(?!\+)/ },
  },
  {
    names: "yq",
    files: "reads",
    readOnly: {
      options: "rPeMCNnjo:p:I: output-format= input-format= prettyPrint raw-output colors no-colors " +
        "indent= null-input " +
        "exit-status unwrapScalar=? yaml-output",
    },
  },
  {
    names: "date",
    readOnly: {
      options: "uRI::d:r:v: utc universal rfc-email iso-8601=? rfc-3339= date= reference= version help",
      operands: /^\+/,
    },
  },
  {
    names: "printf",
    read: ({ args: [format = ""] }) => ({ readOnly: isKnown(format) && !/^-v/.test(format) }),
  },
  { names: "hostname", readOnly: { options: "fsdiIAyV", most: 0 } },
  {
    names: "base64 base32",
    files: "reads",
    outputs: "-o",
    readOnly: { options: "diDw:b: decode wrap= ignore-garbage" },
  },
  {
    names: "shuf",
    files: "reads",
    outputs: "-o --output",
    readOnly: { options: "ezrn:i: echo zero-terminated repeat head-count= input-range=" },
  },
  {
    names: "iconv",
    files: "reads",
    outputs: "-o --output",
    readOnly: { options: "clsf:t: from-code= to-code= list silent" },
  },
  { names: "zstdcat lz4cat", files: "reads", readOnly: { options: "fqv" } },
  {
    names: "xmllint",
    files: "reads",
    readOnly: { options: " xpath= noout format nonet huge noblanks html version" },
  },
  {
    names: "nm objdump readelf size",
    files: "reads",
    readOnly: {
      options:
        "aABCdDefghHilnprRsStTuVwWxj:M: demangle dynamic defined-only undefined-only all-headers disassemble source syms",
      operands: NO_LIST,
    },
  },
  {
    names: "cloc tokei",
    files: "reads",
    deep: true,
    readOnly: {
      options:
        "fs:t:e: files by-file json csv md yaml quiet hidden sort= type= exclude= exclude-dir= include-lang=",
    },
  },
  { names: "lsof", readOnly: { options: "anPtlRUsi::p:u:c:", operands: /^[\w./:-]/ } },
  { names: "ss", readOnly: { options: "tulnpaeimosrxw460HO" } },
  { names: "netstat", readOnly: { options: "tulnpaeridsgcvWx46" } },
  { names: "nvidia-smi", readOnly: { options: "L", most: 0 } },
  {
    names: "tput",
    readOnly: { options: "T:", operands: /^(?:cols|lines|colors|bold|dim|sgr0|set[ab]f|el|\d+)$/ },
  },
  {
    names: "openssl",
    files: "reads",
    outputs: "-out",
    read: ({ args: [sub = "", ...words] }) => ({
      readOnly: /^(?:x509|dgst|version|ciphers|verify)$/.test(sub) &&
        words.every((word) => isKnown(word) && OPENSSL.test(word)),
    }),
  },
  { names: "bat source-highlight pandoc csplit", files: "reads", outputs: "-o --output" },
  { names: "split gsplit", files: "reads", codeLong: "filter" },
  { names: "bc", files: "reads", readOnly: { options: "lqsw" } },
  { names: "gpg", files: "reads", outputs: "-o --output" },
  {
    names: "man",
    code: /^-[A-Za-z]*[PH]/,
    codeLong: "pager html",
    readOnly: { options: "afkwW", operands: /^[\w.+-]+$/ },
  },
];
