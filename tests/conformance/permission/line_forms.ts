// deno-fmt-ignore-file: one line of shell a line
/**
 * Forms of command lines that once had a wrong decision, each with similar ones, and their expected decisions
 * in the real program. `{out}` is a directory outside the workspace.
 *
 * - `writes` looks read-only, and is refused in read-only modes
 * - `reads` runs everywhere except in read-only modes without a jail, `listed` there, too
 * - `destroys` never runs without approval
 * - `local` deletes only what is the jail's own
 * - `code` is code of other languages, which is refused headless where a deny rule could concern it
 */
export type FormKind = "writes" | "reads" | "listed" | "destroys" | "local" | "code";

export interface Form {
  readonly kind: FormKind;
  readonly lines: readonly string[];
}

function forms(kind: FormKind, lists: readonly (readonly string[])[]): Form[] {
  return lists.map((lines) => ({ kind, lines }));
}

const WRITES = forms("writes", [
  ["bash version", "sh version", "dash version", "env bash version"],
  [". version", "source version", "builtin . version", "bash -c '. version'"],
  ["make version", "make -s version", "make help", "nice make version"],
  ["node version", "deno version.ts", "bun version", "nodejs version"],
  ["perl version", "ruby version", "php version", "python3 version"],
  ["just version", "rake version", "task version", "mage version"],
  ["uniq - victim", "uniq names.txt victim", "uniq -c names.txt out", "sort names.txt | uniq - victim"],
  ["uniq two/*", "uniq {a,b}.txt", "find two -type f -exec uniq {} +", "x='a.txt out'; uniq $x"],
  ["xxd - out", "xxd a.txt out", "echo 41 | xxd -r -p - out", "xxd a.txt -k1", "xxd two/y -n"],
  ["command time -o f ls", "env time -o f ls", "/usr/bin/time -of ls", "nice time --output=f ls"],
  ["flock f ls", "flock -n f ls", "flock -s new.lock cat a.txt", "flock f -c ls"],
  ["sed -l 5 'w f' a.txt", "sed --line-length=5 'w f' a.txt", "sed -n -e p -e 'w f' a.txt", "sed -s 's/x/y/w f' a.txt"],
  ["sed -bi s/x/y/ a.txt", "sed -zi s/x/y/ a.txt", "sed -Ei.bak s/x/y/ a.txt", "sed --debug -i s/x/y/ a.txt"],
  ["gawk -o 1 a.txt", "gawk -oout 1 a.txt", "gawk -pout 1 a.txt", "gawk -d 1 a.txt"],
  ["gawk --dump-variables=out 1 a.txt", "gawk --profile=out 1 a.txt", "gawk --pretty-print 1 a.txt", "gawk -i inplace 1 a.txt"],
  ["tree -o out", "tree -L 1 -o out", "tree -oout", "tree -R -H . -L 1 -o out"],
  ["git config user.name --get 1", "git config user.name x", "git config --local a.b c", "git -C src config user.name x"],
  ["xargs -n2 uniq < two/files", "xargs sort < two/opts", "echo out | xargs uniq a.txt", "echo '-o out a.txt' | xargs sort"],
  ["git branch -a new", "git branch -v new", "git tag -n new", "git remote -v update"],
  ["gpg version", "split version", "npm run x version", "zstd version"],
]);

const READS = forms("reads", [
  ["git status", "git status -s", "git -C src status --short", "git status | head -3"],
  ["git log | head", "git log --oneline -3", "git log -1 --stat | cat", "git --no-pager log -1"],
  ["expr 1 + 1", "expr length abc", "expr 4 '*' 5", "x=$(expr 1 + 2); echo $x"],
  ["git branch --list", "git branch --list 'o*'", "git branch --show-current", "git branch --contains HEAD"],
  ["git ls-files -o", "git ls-files --others --exclude-standard", "git ls-files -m", "git ls-files | head -2"],
  ["git config user.name", "git config --get user.email", "git config --list", "git config get user.name"],
  ["tar tf dist.tar", "tar -tvf dist.tar", "tar -xOf dist.tar a.txt", "tar --list --file=dist.tar"],
  ["unzip -l dist.zip", "unzip -p dist.zip a.txt", "unzip -t dist.zip", "zipinfo dist.zip"],
  ["find . -name '*.txt' -exec grep x {} +", "find . -name '*.ts' -exec wc -l {} \\;", "find src -type f -exec head -1 {} +", "find . -name a.txt -exec stat {} \\;"],
  ["rg -- -x a.txt", "rg --files src", "rg -U x a.txt", "rg --count x src | sort"],
  ["X=1; echo $X", "X=src; ls $X", "f=a.txt; wc -l \"$f\"", "X=1 Y=2; echo \"$X$Y\""],
  ["uniq names.txt", "uniq -c names.txt", "sort names.txt | uniq", "xxd -l 8 a.txt"],
  ["sed -n 1p a.txt", "sed -n '1,2p' a.txt | head", "awk '{print $1}' a.txt", "sed 's/x/y/' a.txt"],
  ["bash <<'E'\nls\nE", "sh -c 'ls | head -1'", "bash -c 'echo $0'", "awk 'BEGIN { print 1 }'"],
]);

const LISTED = forms("listed", [
  ["ls", "ls -la src", "ls | wc -l", "pwd && ls two"],
  ["cat a.txt", "head -1 a.txt b.txt", "tail -n +2 a.txt", "cat < a.txt | wc -l"],
  ["grep -rn x src", "grep -c x a.txt", "grep x a.txt | head -1", "egrep 'x|y' a.txt"],
  ["rg -n export src", "rg -l x | head -2", "rg -e x -e y a.txt", "rg -i X a.txt"],
  ["find . -name '*.txt'", "find src -type f", "find . -maxdepth 1 -type d", "find . -name x -print"],
]);

const DESTROYS = forms("destroys", [
  ["python3 -c 'import subprocess; subprocess.run([\"rm\",\"-rf\",\"{out}\"])'", "python3 -c 'import os; os.system(\"rm -rf {out}\")'", "python3 -c 'import subprocess as s; s.Popen([\"/bin/rm\", \"-r\", \"{out}\"])'", "python3 <<'E'\nimport subprocess\nsubprocess.check_call(['rm', '--recursive', '{out}'])\nE"],
  ["python3 -c 'import os; os.execvp(\"rm\", [\"rm\", \"-rf\", \"{out}\"])'", "python3 -c 'import os; os.execlp(\"rm\", \"rm\", \"-rf\", \"{out}\")'", "python3 -c 'from os import execv; execv(\"/bin/rm\", [\"rm\", \"-rf\", \"{out}\"])'", "python3 -c 'import os; os.spawnlp(os.P_WAIT, \"rm\", \"rm\", \"-r\", \"{out}\")'"],
  ["python3 -c 'import shutil; shutil.rmtree(\"{out}\")'", "python3 -c 'from shutil import rmtree as r; r(\"{out}\")'", "python3 -c '__import__(\"shutil\").rmtree(\"{out}\")'", "echo 'import shutil; shutil.rmtree(\"{out}\")' | python3"],
  ["deno eval 'Deno.removeSync(\"{out}\",{recursive:true})'", "deno eval 'await Deno.remove(\"{out}\", { recursive: true })'", "deno eval 'Deno[\"removeSync\"](\"{out}\", {recursive:true})'", "deno eval 'new Deno.Command(\"rm\", { args: [\"-rf\", \"{out}\"] }).outputSync()'"],
  ["node -e 'require(\"fs\").rm(\"{out}\",{recursive:true},()=>{})'", "node -e 'fs.rmSync(\"{out}\", { recursive: true, force: true })'", "node -e 'require(\"fs/promises\").rm(\"{out}\", {force:true, recursive:true})'", "node -e 'fs.rmdirSync(\"{out}\", { recursive: true })'"],
  ["node -e 'child_process.execSync(\"rm -rf {out}\")'", "node -e 'require(\"child_process\").spawnSync(\"rm\", [\"-rf\", \"{out}\"])'", "node -p 'child_process.execFileSync(\"rm\", [\"-r\", \"{out}\"])'", "node <<'E'\nrequire('child_process').exec('rm -r {out}')\nE"],
  ["perl -e 'system(\"rm\", \"-rf\", \"{out}\")'", "perl -e 'exec \"rm -rf {out}\"'", "perl -MFile::Path -e 'rmtree(\"{out}\")'", "perl -MFile::Path=remove_tree -e 'remove_tree(\"{out}\")'"],
  ["ruby -e 'require \"fileutils\"; FileUtils.rm_rf(\"{out}\")'", "ruby -e 'system(\"rm -rf {out}\")'", "php -r 'exec(\"rm -rf {out}\");'", "lua -e 'os.execute(\"rm -rf {out}\")'"],
  ["rsync -a --delete src/ user@host:/srv", "rsync -az --delete-after src/ host:/srv/www", "rsync -a --del src/ rsync://host/module", "rsync -a --delete-excluded -e ssh src/ user@host:"],
  ["hdparm --security-erase NULL /dev/sdz", "hdparm --user-master u --security-erase-enhanced p /dev/sdz", "sudo hdparm --security-erase NULL /dev/sdz", "hdparm --trim-sector-ranges 1:2 /dev/sdz"],
  ["nvme format /dev/nvme9n1", "nvme sanitize -a 2 /dev/nvme9", "nvme delete-ns /dev/nvme9 -n 1", "nvme write-zeroes /dev/nvme9n1"],
  ["badblocks -w /dev/sdz", "badblocks -wsv /dev/sdz", "badblocks -t random -w /dev/sdz", "sudo badblocks -s -w /dev/sdz"],
  ["zpool destroy tank", "zpool labelclear -f /dev/sdz", "zfs destroy -r tank/home", "zpool destroy -f tank"],
  ["killall5", "killall5 -9", "sudo killall5", "killall5 -o 1"],
  ["git send-pack --force ../none main", "git send-pack ../none +main", "git send-pack --mirror ../none", "git push --force ../none main"],
]);

const LOCAL = forms("local", [
  ["rm -rf /tmp/reasonix-x", "rm -rf /tmp/reasonix-b*", "cd /tmp && rm -rf reasonix-x", "find /tmp/reasonix-x -delete || true"],
  ["rm -rf /var/tmp/reasonix-x", "rm -r -f /var/tmp/reasonix-x /tmp/reasonix-y", "rm -rf \"$TMPDIR/reasonix-x\"", "mkdir -p /tmp/reasonix-a/b && rm -rf /tmp/reasonix-a"],
  ["cd $(mktemp -d) && rm -rf *", "cd \"$(mktemp -d)\" && rm -rf ./*", "d=$(mktemp -d); cd \"$d\" && rm -rf *", "d=$(mktemp -d) && touch \"$d/a\" && rm -rf \"$d\""],
]);

const CODE = forms("code", [
  ["python3 -c 'print(1)'", "python3 -c 'import json; print(json.dumps({}))'", "python3 -c \"print('git push')\"", "echo '{}' | python3 -c 'import json,sys; print(json.load(sys.stdin))'"],
  ["python3 <<'E'\nprint(2)\nE", "python3 - <<'E'\nimport sys\nprint(sys.argv)\nE", "echo 'print(3)' | python3", "python3 - x <<E\nprint(4)\nE"],
  ["node -e 'console.log(1)'", "node -p '1 + 1'", "node -e 'console.log(require(\"./package.json\").name)'", "node <<'E'\nconsole.log(5)\nE"],
  ["perl -ne 'print if /x/' a.txt", "perl -e 'print 1'", "perl -pe 's/x/y/' a.txt", "perl -lane 'print $F[0]' a.txt"],
  ["ruby -e 'puts 1'", "php -r 'echo 1;'", "lua -e 'print(1)'", "deno eval 'console.log(1)'"],
]);

export const FORMS: readonly Form[] = [...WRITES, ...READS, ...LISTED, ...DESTROYS, ...LOCAL, ...CODE];
