// deno-fmt-ignore-file: one line of shell a line
import { everyday } from "./everyday_lines.ts";

/** Lines that ask git and the system something, and lines made of several commands that only read. */
export const QUERIES = everyday("read", {
  "asks git": String.raw`
    git status
    git status -s
    git status --short --branch
    git status --porcelain
    git status --porcelain=v2
    git log
    git log --oneline
    git log --oneline -10
    git log | head
    git log -1
    git log -p -1
    git log --stat -3
    git log --graph --all --oneline | head -30
    git log --since=yesterday
    git log --author=me --format='%h %s'
    git log -S foo --oneline
    git log main..HEAD --oneline
    git log --follow -- src/a.ts
    git log -L 1,10:src/a.ts
    git log --pretty=format:'%h %an %s' -5
    git diff
    git diff --stat
    git diff HEAD
    git diff HEAD~1
    git diff --cached
    git diff --staged --name-only
    git diff main...HEAD
    git diff --name-status main
    git diff -w src/a.ts
    git diff HEAD~3 -- src
    git diff --check
    git diff | head -200
    git diff --no-index a.txt b.txt
    git show
    git show HEAD
    git show HEAD:src/a.ts
    git show --stat HEAD~2
    git show --name-only HEAD
    git show main:package.json | jq .version
    git branch
    git branch -a
    git branch -vv
    git branch --list
    git branch --list 'feature/*'
    git branch --show-current
    git branch --contains HEAD
    git branch -r
    git branch --merged main
    git branch --sort=-committerdate
    git tag
    git tag -l
    git tag -l 'v1.*'
    git tag --contains HEAD
    git tag --sort=-creatordate | head -3
    git remote
    git remote -v
    git remote get-url origin
    git remote show
    git stash list
    git stash show
    git stash show -p stash@{0}
    git worktree list
    git worktree list --porcelain
    git reflog
    git reflog -10
    git reflog show main
    git config --list
    git config -l
    git config user.name
    git config --get user.email
    git config --get-all remote.origin.fetch
    git config --get-regexp '^alias'
    git config --global user.name
    git config get user.name
    git config --show-origin --list
    git rev-parse HEAD
    git rev-parse --short HEAD
    git rev-parse --show-toplevel
    git rev-parse --abbrev-ref HEAD
    git rev-parse --git-dir
    git ls-files
    git ls-files | wc -l
    git ls-files -o
    git ls-files -o --exclude-standard
    git ls-files -m
    git ls-files '*.ts' | xargs wc -l
    git ls-files --others --ignored --exclude-standard
    git ls-tree -r HEAD --name-only
    git ls-tree HEAD src
    git blame src/a.ts
    git blame -L 10,20 src/a.ts
    git shortlog -sn
    git shortlog -sn HEAD
    git describe --tags
    git describe --always --dirty
    git merge-base main HEAD
    git rev-list --count HEAD
    git rev-list --all | wc -l
    git cat-file -p HEAD
    git cat-file -t HEAD
    git for-each-ref --sort=-committerdate refs/heads
    git count-objects -vH
    git check-ignore -v dist
    git whatchanged -3
    git show-ref
    git show-branch
    git name-rev HEAD
    git version
    git --version
    git help log
    git -C src status
    git -C . log -1 --oneline
    git --no-pager log -3
    git --no-pager diff
    git cherry -v main
    git range-diff main~3 main HEAD
    git diff-tree --no-commit-id --name-only -r HEAD
    git symbolic-ref HEAD
    git symbolic-ref --short HEAD
    git var GIT_AUTHOR_IDENT
    git submodule status
    git notes list
    git bisect log
    git stash list | wc -l
    git log --oneline main.. | wc -l
    git diff --shortstat`,
  "asks the system": String.raw`
    echo hello
    echo $HOME
    echo "$PATH" | tr : '\n'
    echo $?
    echo -e 'a\tb'
    echo "node: $(node --version)"
    printf '%s\n' a b c
    printf 'done\n'
    env | grep -i node
    env | sort
    env
    printenv PATH
    printenv
    uname -a
    uname -s
    whoami
    id
    id -u
    groups
    hostname
    uptime
    date
    date +%s
    date -u +%Y-%m-%dT%H:%M:%SZ
    date -d yesterday +%F
    cal
    free -h
    ps aux | head
    ps aux | grep node
    ps -ef | grep -c deno
    pgrep -fl node
    lsof -i :3000
    ss -ltnp
    netstat -tln | head
    locale
    getconf PAGE_SIZE
    arch
    lscpu | head -5
    ulimit -n
    ulimit -a
    umask
    tty
    jobs
    history | tail
    set -o | head
    alias
    cat /etc/os-release
    cat /proc/cpuinfo | grep -c processor
    cat /proc/meminfo | head -3
    cat /sys/class/net/lo/mtu
    ls /proc/self/fd
    node --version
    node -v
    npm --version
    npm -v
    deno --version
    python3 --version
    python3 -V
    python --version
    pip --version
    go version
    go env GOPATH
    gcc --version
    gcc --version | head -1
    make --version
    ruby --version
    java -version
    java --version
    perl -v
    php --version
    cmake --version
    docker --version
    tsc --version
    bash --version
    jq --version
    rg --version
    which node && node --version
    test -f package.json && echo yes
    test -d node_modules || echo "not installed"
    [ -f Cargo.toml ] && echo rust
    [ -d .git ] && echo repo
    [[ -f go.mod ]] && echo go
    [[ $(wc -l < a.txt) -gt 5 ]] && echo long
    true
    : ok
    sleep 1
    sleep 0.1 && ls
    man ls | head -20
    getent passwd root
    tput cols
    ls -l $(which node)
    nvidia-smi`,
  "puts reading commands together": [
    "cd src && ls",
    "cd src && git status && git diff",
    "cd /work && ls -la",
    "(cd src; pwd; ls)",
    "X=1; echo $X",
    "X=src; ls $X",
    'f=src/a.ts; wc -l "$f"; head -3 "$f"',
    "for f in src/*.ts; do wc -l $f; done",
    'for f in $(git ls-files | head -5); do echo "== $f"; head -3 "$f"; done',
    "for i in 1 2 3; do echo $i; done",
    "for d in */; do echo $d; done",
    "while read -r l; do echo $l; done < names.txt",
    "cat names.txt | while read n; do grep -c $n data.txt; done",
    "if [ -f package.json ]; then jq .name package.json; else echo none; fi",
    "case $(uname) in Linux) echo l;; *) echo o;; esac",
    "ls | xargs -n1 basename",
    "ls | xargs -I{} echo {}",
    "echo a b c | xargs -n1 echo",
    "ls src | sort > /dev/null && echo ok",
    "ls nothing 2>&1 | head -1",
    "ls nothing 2>/dev/null; echo $?",
    "ls >/dev/null 2>&1 && echo ok",
    "echo '=== status ==='; git status --short; echo '=== log ==='; git log --oneline -5",
    "git log --format=%H | head -1 | cut -c1-7",
    "git diff --name-only | grep '\\.ts$' | xargs wc -l",
    "git diff --name-only | xargs -I{} git log -1 --format='%h {}' -- {}",
    'echo "$(git rev-parse --short HEAD) on $(git branch --show-current)"',
    "cat <<'E'\nhello\nE",
    "cat <<E | wc -l\na\nb\nE",
    "cat <<< hello",
    "grep -c . <<< \"$(git status -s)\"",
    "wc -l < <(git ls-files)",
    "diff <(git show HEAD:a.txt) a.txt",
    "time ls",
    "time git status",
    "timeout 10 grep -rn foo src",
    "timeout 5s git log -1",
    "nice grep -rn foo src",
    "env LC_ALL=C sort names.txt",
    "LC_ALL=C sort names.txt | head",
    "LANG=C ls",
    "TZ=UTC date",
    "GIT_PAGER=cat git log -3",
    "PAGER=cat git diff",
    "NO_COLOR=1 ls",
    "command ls -la",
    "stdbuf -oL grep foo data.txt",
    "! grep -q foo data.txt",
    "ls && pwd && whoami",
    "ls; pwd; whoami",
    "ls || true",
    "test -f a.txt; echo $?",
    "[ -n \"$CI\" ] && echo ci || echo local",
    "echo $((2 + 3 * 4))",
    "echo ${HOME:-none}",
    "echo ${#PATH}",
    "f() { grep -c \"$1\" data.txt; }; f foo; f bar",
    "set -e; ls; pwd",
    "set -euo pipefail; git status; git log -1",
    "sh -c 'ls | head'",
    "bash -c 'git status; git log -1'",
    "bash -lc 'ls'",
    "ls -la # what is here",
    "printf '%s\\n' src/*.ts | sort | head",
    "readarray -t files < <(git ls-files); echo ${#files[@]}",
    "pushd src > /dev/null; ls; popd > /dev/null",
    "comm -13 <(sort a.txt) <(sort b.txt)",
    "tail -5 build.log; echo; tail -5 test.log",
    "head -5 a.txt b.txt c.txt",
    "git status; ls; cat package.json",
    "cat package.json | grep -A10 '\"scripts\"'",
    "local=1; echo $local",
    "unset X; echo ${X-unset}",
    "read -r first < names.txt; echo $first",
    "git log -1 --format=%cd && date",
    "echo start && sleep 0.1 && echo end",
    "grep -n foo a.txt | tee /dev/null | wc -l",
    "ls /tmp | head",
    "seq 3 | sort -r | paste -sd,",
  ],
});
