// deno-fmt-ignore-file: rows of words
/** Programs for reading, and some with similar names that write. */
export const PROGRAMS: readonly string[] = (
  "ls cat head tail wc pwd true false echo test which type file stat du df whoami id uname nproc uptime basename dirname realpath readlink " +
  "cut tr nl tac rev comm cmp md5sum sha1sum sha256sum sha512sum b2sum cksum sum od hexdump strings grep egrep fgrep tree column fold expand " +
  "unexpand seq sleep jq paste printenv groups arch tsort getconf locale ps free sed awk gawk mawk diff more less zcat zgrep cal factor numfmt " +
  "rg sort fd date printf env hostname base64 command uniq xxd join expr bc shuf tee iconv tar unzip zipinfo gunzip gzip xz bzcat zstd nm " +
  "objdump readelf size openssl shellcheck whereis locate getent tput ss netstat pgrep lscpu tty ulimit umask jobs history alias hash " +
  "git python3 perl ruby make bash sh dash . source rake just cargo go gcc php sqlite3 vim ed ex dc m4 " +
  "flock time timeout nice xargs split csplit dd install ln cp mv touch mkdir truncate script look join pr fmt ptx split sdiff diff3 patch " +
  "cpio zip ar ranlib strip ld as cc c++ clang-format dos2unix sponge rename lessecho lesskey infocmp tic captoinfo msgfmt localedef " +
  "ldd nohup setsid logger wall write mesg chattr lsattr getfacl xmllint xsltproc pandoc identify convert ffprobe curl wget ssh-keygen gpg " +
  "readarray mapfile read declare export local set unset shopt cd pushd popd dirs trap wait exit return getopts printf let test [ [[ : " +
  "watch column col colrm ul hexdump mcookie namei lsblk findmnt lsns lslocks last lastlog who w users tset vmstat top pmap pidof"
).split(" ");

/** Arguments that change the effect of single programs. */
export const OWN: readonly (readonly [name: string, forms: readonly string[]])[] = [
  ["sed", ["'s/a/b/' a.txt", "-n '1p' a.txt", "'w out' a.txt", "-n '/a/w out' a.txt", "'s/a/b/w out' a.txt", "'1e touch out' a.txt", "-i s/a/b/ a.txt", "-bi s/a/b/ a.txt", "-l 5 'w f' a.txt", "-s -n '$=' a.txt b.txt", "-e p -e 'w out' a.txt", "--expression='w out' a.txt", "'$r b.txt' a.txt", "-E 's/(a)/\\1/gw out' a.txt", "'s/a/touch out/e' a.txt", "'1~2d' a.txt", "--in-place=.b s/a/b/ a.txt", "-ni p a.txt", "'1!G;h;$!d' a.txt", "y/a/b/ a.txt", "'1{p;w out\n}' a.txt", "-zn p a.txt", "'s/x/y/;W out' a.txt", "'R b.txt' a.txt", "-f run.sed a.txt", "--debug p a.txt", "'1,3!d' a.txt", "-u 2q a.txt", "'/a/,/b/p' a.txt", "'i\\\nx' a.txt", "'$!N;P;D' a.txt", "q5 a.txt", "--posix -n l a.txt", "'s/a/b/2p;s/c/d/I' a.txt", "--null-data p a.txt"]],
  ["awk", ["'{print}' a.txt", "'{print > \"out\"}' a.txt", "'{print >> \"a.txt\"}' a.txt", "'BEGIN{system(\"touch out\")}'", "'{print | \"tee out\"}' a.txt", "-f run.awk a.txt", "-F, '{print $1}' data.csv", "-v x=1 '{print x}' a.txt", "'NR==1' a.txt", "'BEGIN{while((getline l < \"a.txt\")>0) print l}'", "'BEGIN{\"touch out\"|getline}'", "'END{print NR}' a.txt", "'{printf \"%s\\n\",$1 > \"/dev/stderr\"}' a.txt", "'$1 > 5' data.csv", "'/x/{print $1}' a.txt", "'BEGIN{print 1 > 2}'", "'BEGIN{print (1 > 2)}'", "'{a[$1]++} END{for(k in a) print k, a[k]}' a.txt", "'{x = $1 > 2 ? 1 : 0; print x}' data.csv", "'/>/' a.txt", "'BEGIN{printf(\"x\") > \"out\"}'", "-W dump-variables 1 a.txt", "'{ print substr($0, 1, 3) }' a.txt"]],
  ["gawk", ["-o 1 a.txt", "-p 1 a.txt", "-d 1 a.txt", "-oout 1 a.txt", "--pretty-print=out 1 a.txt", "'{print}' a.txt", "-i inplace '{print}' a.txt", "-l filefuncs 1", "-e 1 a.txt", "--lint 1 a.txt", "'@load \"x\"'"]],
  ["uniq", ["names.txt", "-c names.txt", "- victim", "names.txt victim", "two/*", "two/x two/y", "-d - out", "-c < names.txt", "-f 1 names.txt", "-f1 names.txt out", "-- names.txt out", "-s 1 -w 2 names.txt", "--count names.txt", "-cd", "-u names.txt -"]],
  ["xxd", ["a.txt", "-l 8 a.txt", "a.txt out", "- out", "-p a.txt", "-r a.txt out", "-r -p a.txt", "-s 2 a.txt", "-c 4 a.txt", "-i a.txt", "-b a.txt", "-l 4 a.txt out", "-ps a.txt out", "-u -g 1 a.txt", "-c 8 -l 16 two/*"]],
  ["sort", ["names.txt", "-u names.txt", "-o out names.txt", "names.txt -o out", "-oout names.txt", "-ro out names.txt", "-k2 names.txt", "-t, -k1 data.csv", "--output=out names.txt", "--outp out names.txt", "-T src names.txt", "-S 1K -T . names.txt", "--compress-program=./run.sh names.txt", "--files0-from=a.txt", "-c names.txt", "-t o names.txt", "-to names.txt", "-m names.txt a.txt", "-k 1,1 -nr data.csv", "-z names.txt", "-t -o names.txt", "--sort=version names.txt", "--debug names.txt", "-R names.txt", "--parallel=2 names.txt"]],
  ["tree", ["-o out", "-L 1", "-oout", "--output out", "-a", "-R -H . -o out", "-L 1 -R"]],
  ["time", ["ls", "-o out ls", "-p ls", "-a -o out ls", "--output=out ls", "-f %e ls", "-v ls", "-oout ls"]],
  ["flock", ["out ls", "a.txt ls", "-n out ls", "-s two/x ls", "src ls", "-c ls out", "9"]],
  ["tar", ["tf dist.tar", "-tf dist.tar", "tvf dist.tar", "xf dist.tar", "-xOf dist.tar", "xOf dist.tar a.txt", "--list --file=dist.tar", "tf dist.tar --checkpoint-action=exec=./run.sh --checkpoint=1", "cf out a.txt", "-tf dist.tar --index-file=out", "-tvf dist.tar --to-command=./run.sh", "-df dist.tar", "--diff -f dist.tar", "-tf dist.tar -I ./run.sh", "-x -O -f dist.tar --remove-files", "rf dist.tar b.txt", "--delete -f dist.tar a.txt", "--test-label -f dist.tar", "-tf dist.tar --totals", "tfO dist.tar", "-Oxf dist.tar", "-xf dist.tar --to-stdout", "-c -f - a.txt", "-cO a.txt", "-tf dist.tar -g out", "-tzf dist.tar", "-cf - a.txt --remove-files", "-czf - src"]],
  ["unzip", ["-l dist.zip", "-p dist.zip", "-v dist.zip", "-t dist.zip", "dist.zip", "-o dist.zip", "-Z dist.zip", "-lq dist.zip", "-c dist.zip", "-z dist.zip", "-Zx dist.zip", "-p dist.zip -d new", "-lo dist.zip", "-x dist.zip", "-n dist.zip", "-pd new dist.zip"]],
  ["gzip", ["-l log.gz", "-dc log.gz", "-d log.gz", "-c a.txt", "a.txt", "-t log.gz", "-kd log.gz", "-dfc log.gz", "-cd < log.gz", "-lv log.gz", "-9c a.txt", "-N -l log.gz", "--stdout a.txt", "--test log.gz", "-r src", "-tv log.gz", "-S c a.txt", "-Sc a.txt"]],
  ["gunzip", ["-c log.gz", "log.gz", "-t log.gz", "-l log.gz", "--stdout log.gz", "-k log.gz"]],
  ["xz", ["-l a.txt", "-dc a.txt", "-c a.txt", "a.txt", "-t a.txt", "-T0 -c a.txt", "--files=a.txt", "-k a.txt"]],
  ["date", ["+%s", "-u", "-s now", "--set=now", "-d yesterday", "-r a.txt", "-f names.txt", "01010101", "-Is", "--rfc-3339=date", "-R", "-us now"]],
  ["env", ["", "-0", "ls", "-u A ls", "-C src ls", "-S 'touch out'", "-S 'ls -l'", "--split-string='touch out'", "A=1", "-i", "-- ls", "touch out", "-v ls", "--chdir=src ls"]],
  ["xargs", ["ls < names.txt", "touch < names.txt", "-I{} ls {} < names.txt", "-a names.txt ls", "-a names.txt touch", "< names.txt", "-P2 -n1 wc < names.txt", "-I{} sh -c 'touch {}' < names.txt", "-t ls < names.txt", "sort < two/opts", "-n2 uniq < two/files", "git log < two/opts", "-L1 sed < two/opts", "-r wc -l < names.txt"]],
  ["find", [". -name x -fprint out", "src -fls out", ". -delete", ". -exec touch out ;", ". -newer a.txt -printf '%p\\n'", ". -fprintf out %p", ". -ok ls {} \\;", "-files0-from a.txt", ". -execdir ls {} \\;", ". -name 'x' -o -exec sort -o out {} \\;", ". -maxdepth 1 -exec uniq {} +", "two -type f -exec uniq {} +", "two -type f -exec xxd {} +", ". -exec sed -i s/a/b/ {} +", ". -name '*.txt' -exec grep -l a {} +", ". -name '*.txt' -exec sh -c 'wc -l $0' {} \\;", ". -type f -exec tee {} \\;"]],
  ["rg", ["a", "--files", "-l a", "--pre ./run.sh a", "--pre=./run.sh a", "-z a log.gz", "--hostname-bin=./run.sh a", "-f names.txt", "-- -a a.txt", "-uuu a", "--json a", "--search-zip a", "-r x a a.txt", "--debug a", "--generate man", "--sort path a"]],
  ["grep", ["-rn a .", "a a.txt", "-f names.txt a.txt", "-c a a.txt", "-E 'a|b' a.txt", "--include=*.ts -r a", "-r a > /dev/null", "-oP a a.txt", "-q a a.txt", "-lZr a", "-A2 a a.txt"]],
  ["diff", ["a.txt b.txt", "-u a.txt b.txt", "-r src two", "--output=out a.txt b.txt", "--to-file=b.txt a.txt", "-l a.txt b.txt", "--paginate a.txt b.txt", "-y a.txt b.txt", "-D X a.txt b.txt", "--line-format=%L a.txt b.txt"]],
  ["less", ["a.txt", "-o out a.txt", "-Oout a.txt", "-kout a.txt", "--log-file=out a.txt", "+a a.txt", "-N a.txt", "-FX a.txt", "-T out a.txt", "--lesskey-src=out a.txt", "-t x", "--tag-file=out a.txt", "'+!touch out' a.txt", "-Rout a.txt", "-# 4 -o out a.txt"]],
  ["more", ["a.txt", "+2 a.txt", "-d a.txt", "+/a a.txt"]],
  ["file", ["a.txt", "-C -m a.txt", "-b *", "-f names.txt", "-z log.gz", "--compile", "-m a.txt b.txt", "-Cm a.txt"]],
  ["jq", [". data.json", "-n 1", "-r .a data.json", "-f run.jq data.json", "--arg x 1 . data.json", "-L . . data.json", "input_filename data.json", "'env.HOME' data.json", "--slurpfile a data.json -n 1", "--rawfile a a.txt -n '$a'", "'@sh' data.json"]],
  ["split", ["a.txt", "-l 1 a.txt", "-b 2 a.txt out", "--filter=cat a.txt", "-n l/1/2 a.txt"]],
  ["tee", ["", "/dev/null", "out", "-a a.txt", "/dev/stderr", "/dev/null out", "--append out", "-", "-p"]],
  ["dd", ["if=a.txt", "if=a.txt of=out", "if=a.txt bs=1 count=1", "if=a.txt of=/dev/null", "of=a.txt"]],
  ["printf", ["'%s\\n' a", "-v x a", "-vx a", "'%d' 1", "-- a", "'%(%F)T'"]],
  ["read", ["x", "-r x < a.txt", "-a x < a.txt", "-p x y", "-u 0 x", "-d '' x < a.txt", "PATH < a.txt", "IFS < a.txt"]],
  ["declare", ["x=1", "-p", "-x PATH=.", "-r y=1", "-f", "-a z", "-i n=1+1", "-n r=x", "PATH=src:$PATH; ls", "-A m"]],
  ["export", ["A=1", "-p", "PATH=src:$PATH", "LESSOPEN='|./run.sh'; less a.txt", "PAGER=./run.sh; git log", "A=1; ls", "GIT_EXTERNAL_DIFF=./run.sh; git diff HEAD~1", "-n A", "TZ=UTC; date", "GIT_TRACE=$PWD/out; git log"]],
  ["command", ["-v ls", "-V ls", "ls", "-p ls", "-v ls touch out", "touch out", "-pv ls"]],
  ["hash", ["", "-r", "ls", "-p ./run.sh ls; ls", "-t ls", "-l", "-d ls"]],
  ["set", ["-e; ls", "-x; ls", "-- a b; ls $1", "-o noclobber; ls", "-f; ls *", "-euo pipefail; ls", "-- -o out; sort $1 $2 a.txt", "-a; A=1; ls", "+e; ls"]],
  ["test", ["-f a.txt", "-d src", "a = b", "-n x", "1 -lt 2", "a.txt -nt b.txt", "-v x", "-z \"$(ls)\"", "-e out || echo none"]],
  ["openssl", ["version", "dgst -sha256 a.txt", "dgst -sha256 -out out a.txt", "rand -hex 4", "rand -out out 4", "x509 -in a.txt -noout", "base64 -in a.txt", "base64 -in a.txt -out out", "enc -base64 -in a.txt", "genrsa -out out 512", "rand -writerand out 2", "list -commands"]],
  ["base64", ["a.txt", "-d a.txt", "-w0 a.txt", "--decode a.txt", "-i a.txt", "-D -i a.txt -o out"]],
  ["shuf", ["names.txt", "-n 1 names.txt", "-e a b", "-o out names.txt", "-i 1-5", "--output=out -e a", "-ro out -n 1 -e a", "--random-source=a.txt names.txt", "-zn1 names.txt"]],
  ["join", ["a.txt b.txt", "-t, data.csv data.csv", "-o 1.1 a.txt b.txt", "-a1 a.txt b.txt"]],
  ["iconv", ["-f latin1 -t utf-8 a.txt", "-t utf-8 -o out a.txt", "-l", "--output=out a.txt", "-c a.txt"]],
  ["nm", ["a.txt", "-C a.txt", "--plugin=./run.sh a.txt", "@a.txt"]],
  ["expr", ["1 + 1", "length abc", "a : b", "substr abc 1 2"]],
  ["bc", ["< two/math", "-l <<< 1/3", "-q two/math", "<<< 2*3"]],
  ["ps", ["aux", "-ef", "-o pid", "axo pid,cmd", "--sort=-pcpu"]],
  ["hostname", ["", "-f", "-i", "new", "-F a.txt"]],
  ["sqlite3", [":memory: 'select 1'", "new.db 'select 1'", "new.db .tables", "-readonly new.db .tables", "new.db '.output out' 'select 1'", "new.db 'create table t(a)'", ":memory: .help"]],
  ["column", ["-t a.txt", "-s, -t data.csv", "-J -N a a.txt"]],
  ["pr", ["a.txt", "-2 a.txt"]],
  ["fd", [".", "-e txt", "-x ls", "-X rm", ". -x touch out"]],
  ["look", ["a names.txt", "x"]],
  ["umask", ["", "-S", "077; ls", "0"]],
  ["trap", ["", "-p", "'touch out' EXIT", "-l", "'ls' EXIT", "- EXIT"]],
  ["alias", ["", "ls=touch", "-p", "x='touch out'"]],
  ["make", ["--version", "-v", "version", "-n", "-n version", "--dry-run", "-q", "-p -n", "help", "-pn"]],
  ["bash", ["--version", "version", "-n run.sh", "--help", "run.sh", "-c ls", "-c 'touch out'", "-v run.sh", "-n -c ls", "-D run.sh"]],
  ["perl", ["-v", "--version", "version", "-V", "-c run.sh", "-V:version", "-ne print a.txt", "-h"]],
  ["python3", ["--version", "-V", "version", "-VV", "--help", "-m json.tool data.json", "-m json.tool data.json out"]],
  ["pgrep", ["-f bash", "-l sh", "-c x"]],
  ["zcat", ["log.gz", "-f a.txt", "log.gz a.txt"]],
  ["ulimit", ["-n", "-a", "-S -n 64", "-f 0; ls"]],
  ["cd", ["src", "src && ls", "-", "/ && pwd", "two && uniq x y", "~ && ls", "two && cat *"]],
  ["history", ["", "-w out", "5", "-a out", "-c", "-r a.txt", "-d 1", "-s x"]],
  ["fc", ["-l", "-s", "-ln"]],
  ["compgen", ["-c", "-A function", "-W 'a b'", "-W '$(touch out)'", "-C 'touch out'", "-F f"]],
  ["mapfile", ["-t x < a.txt", "x < a.txt", "-C 'touch out' -c 1 x < a.txt", "-n 1 PATH < a.txt"]],
  ["let", ["x=1", "'x=a[$(touch out)]'", "1+1", "'y+=1'"]],
  ["[", ["-f a.txt ]", "a = b ]", "1 -eq 1 ]", "-v 'x[$(touch out)]' ]", "-R x ]"]],
  ["[[", ["-f a.txt ]]", "a == b* ]]", "1 -eq 'x[$(touch out)]' ]]", "-v x ]]", "abc =~ b ]]"]],
  ["echo", ["a", "-e 'a\\n'", "$((1+1))", "$(ls)", "${x:-$(ls)}", "${x:=1}", "`ls`", "$(<a.txt)", "*", "$((x=1))", "${x@P}", "~", "{1..3}", "$RANDOM", "${!x}", "\"${#PATH}\"", "${PATH//:/ }", "$(touch out)"]],
];

/** Subcommands of git with options, reading and writing ones. */
export const GIT: readonly string[] = (
  "status|status -s|status --porcelain|log|log --oneline|log -p -1|log --stat|log --output=out|log -1 --output out|log --graph --all|log -S x|log --ext-diff|log --show-signature -1|log --format=%H|" +
  "diff|diff HEAD~1|diff --stat|diff --output=out HEAD~1|diff -oout HEAD~1|diff --no-index a.txt b.txt|diff --ext-diff HEAD~1|diff --cached|diff --textconv HEAD~1|diff --name-only HEAD~1|diff -O a.txt|show|show HEAD:a.txt|show --stat|show --output=out|" +
  "branch|branch -a|branch new|branch -d old|branch --list|branch --list 'o*'|branch -v|branch -m old new|branch --contains HEAD|branch --merged|branch --show-current|branch -u x|branch --edit-description|branch --list new|branch -l new|branch -q new|branch --no-color new|branch -a new|branch --sort=refname new|branch -vv new|branch --all new|branch -r new|branch --format=%H new|" +
  "tag|tag -l|tag new|tag -l 'v*'|tag -d v1|tag -n|tag -n new|tag --contains HEAD|tag -a new -m x|tag --sort=refname|tag --sort=refname new|tag -l new|tag --points-at HEAD|tag -f v1|tag --list x|" +
  "remote|remote -v|remote show|remote add x y|remote remove origin|remote get-url origin|remote rename origin x|remote set-url origin x|remote -v update|remote prune origin|remote show -n origin|" +
  "stash list|stash show|stash|stash push|stash drop|stash list -p|stash show -p|stash clear|stash create|reflog|reflog show|reflog expire --all --expire=now|reflog delete HEAD@{0}|reflog -2|reflog exists HEAD|" +
  "config --list|config -l|config user.name|config --get user.name|config user.name x|config --get-all user.name|config --unset user.name|config get user.name|config set user.name x|config --get-regexp user|config --add a.b c|config -e|config --global -l|config --get user.name x|config list|config --rename-section user u|config --get-color a.b|config --get-colorbool a|config --file out a.b c|config -f a.txt -l|config --global user.name|config --local user.name y|config --type=bool a.b|config --replace-all user.name z|config user.name --get|" +
  "worktree list|worktree add new|worktree prune|worktree list --porcelain|rev-parse HEAD|rev-parse --git-dir|rev-parse --show-toplevel|rev-parse --parseopt|rev-parse --sq-quote a|ls-files|ls-files -o|ls-files -m|ls-files --others|ls-tree HEAD|ls-tree -r HEAD|ls-remote .|" +
  "blame a.txt|annotate a.txt|blame -L1,2 a.txt|blame --contents b.txt a.txt|describe --always|describe --tags|shortlog -s HEAD|cat-file -p HEAD|cat-file -t HEAD|cat-file --batch-all-objects --batch-check|cat-file --textconv HEAD:a.txt|cat-file --filters HEAD:a.txt|rev-list HEAD|rev-list --count HEAD|rev-list --use-bitmap-index HEAD|" +
  "name-rev HEAD|merge-base HEAD old|for-each-ref|for-each-ref --format=%H|for-each-ref --shell|count-objects -v|whatchanged -1|check-ignore x|check-attr -a a.txt|diff-tree HEAD|diff-tree -r HEAD~1 HEAD|diff-index HEAD|diff-index --output=out HEAD|diff-files|diff-files --output=out|show-ref|show-ref --verify refs/heads/old|show-branch|show-branch --reflog|var GIT_EDITOR|var -l|version|--version|" +
  "grep a|grep -n a|grep -O a|grep -Oless a|grep --open-files-in-pager=./run.sh a|grep -c a|grep --cached a|grep --no-index a|grep -e a|cherry old|range-diff HEAD~1 HEAD HEAD|symbolic-ref HEAD|symbolic-ref HEAD refs/heads/old|symbolic-ref --short HEAD|symbolic-ref -d HEAD|submodule status|submodule|submodule init|submodule foreach ls|notes list|notes|notes add -m x|notes show|bisect log|bisect start|bisect view|" +
  "-C src status|-C two log -1|-c core.pager=cat log|-c alias.x=!ls x|-c core.fsmonitor=./run.sh status|-c user.name=x log -1|--no-pager log|-p log|--paginate log|--git-dir=.git log|--work-tree=. status|--exec-path|--exec-path=. log|--no-optional-locks status|--bare log|--namespace=x log|--literal-pathspecs log|-c diff.external=./run.sh diff HEAD~1|--config-env=a.b=HOME log|" +
  "archive HEAD|archive -o out HEAD|archive --list|archive --output=out HEAD|bundle verify x|bundle create out HEAD|bundle list-heads x|format-patch -1|format-patch --stdout -1|format-patch -1 -o new|fsck|fsck --lost-found|gc|gc --auto|prune -n|prune|verify-pack -v x|fetch|fetch --dry-run|pull|push -n|add -n .|add .|commit --dry-run|commit -m x|clean -n|clean -fd|rm -n a.txt|mv -n a.txt c.txt|checkout|checkout HEAD -- a.txt|switch old|reset|reset --soft HEAD|restore a.txt|apply --stat a.txt|apply --check a.txt|interpret-trailers --parse|interpret-trailers --in-place a.txt|hash-object a.txt|hash-object -w a.txt|write-tree|merge-tree HEAD old|merge-tree --write-tree HEAD old|update-index --refresh|update-index -q|read-tree HEAD|pack-refs|pack-objects out|rerere status|rerere|maintenance run|stripspace|column --mode=row|mktree|commit-tree HEAD^{tree} -m x|check-mailmap x|check-ref-format a/b|get-tar-commit-id|fmt-merge-msg|diff-pairs|last-modified|refs list|refs verify|for-each-repo --config=x log|hook list|hook run pre-commit|backfill|repo info"
).split("|");

/** Parts of expressions of `find`. */
export const EXPRESSIONS: readonly string[] = [
  ..."-name '*.txt'|-type f|-type d|-maxdepth 1|-print|-print0|-ls|-newer a.txt|-size +1k|-empty|-mtime -1|-path ./src -prune -o -print|-not -name x|! -name y|-printf '%p'|-regex '.*t'".split("|"),
  ..."-delete|-fprint out|-fls out|-fprintf out %p|-fprint0 out|-exec ls {} +|-exec cat {} \\;|-exec grep a {} +|-exec touch out \\;|-exec rm {} +|-execdir ls {} +|-ok ls \\;|-exec sort -o out {} \\;".split("|"),
  ..."-exec uniq {} +|-exec wc -l {} +|-exec sh -c 'ls $0' {} \\;|-exec sed -n 1p {} \\;|-exec sed -i s/a/b/ {} \\;|-quit|-prune|-true|-o -name z|-perm 644|-user root|-samefile a.txt|-exec head -1 {} \\;".split("|"),
  ..."-exec xxd {} +|-exec tee {} \\;|-exec git log -1 -- {} \\;|-exec stat {} +|-exec awk 1 {} +|-exec find {} -delete \\;|-exec env ls {} +|-exec time -o out ls {} \\;|-follow|-xdev|-readable|-links 1".split("|"),
];
