import { dynamic, type Program } from "../program.ts";

/** Programs that talk to other machines, or run words of theirs somewhere else. */
export const NETWORK: readonly Program[] = [
  { names: "curl", network: true, outputs: "-o --output", prints: "--version -V" },
  {
    names: "wget",
    network: true,
    code: /^-e/,
    codeLong: "use-askpass execute",
    outputs: "-o -O --output --output-document",
    prints: "--version -V",
  },
  {
    names: "sftp",
    network: true,
    code: /^-[So]/,
    read: ({ name, input }) =>
      input.kind === "inherited" ? undefined : dynamic(`${name} runs what it is given as input`),
  },
  { names: "socat", network: true, code: /\b(?:exec|system|shell):/i },
  { names: "nc ncat netcat", network: true, code: /^-[A-Za-z]*[ec]|^--(?:exec|sh-exec|lua-exec)/ },
  {
    names: "docker",
    network: true,
    mentions: "afterFirst",
    offers: "ps logs",
    prints: "--version -v version",
  },
  { names: "kubectl", network: true, mentions: "afterFirst", offers: "get describe" },
  { names: "podman nerdctl oc docker-compose lxc vagrant adb", network: true, mentions: "afterFirst" },
  { names: "dig host nslookup ping traceroute", network: true },
];
