// deno-fmt-ignore-file: one line of shell a line
import { everyday } from "./everyday_lines.ts";

/** Lines that only look at files: what an agent runs most, before it changes anything. */
export const READING = everyday("read", {
  "lists files": String.raw`
    ls
    ls -la
    ls -lah src
    ls -R src | head -50
    ls -1 docs | wc -l
    ls -t | head -5
    ls src/*.ts
    ls -d */
    ls --color=never
    ls -la ~/ | head
    ls -lS | head -n 20
    ls node_modules/.bin | grep tsc
    ls src tests 2>/dev/null
    ls -la /usr/bin | head
    ls *.md
    ls -l package.json tsconfig.json
    ls packages/*/package.json
    ls src/**/*.test.ts
    ls -a | grep -v '^\.'
    tree -L 2
    tree -L 2 -I node_modules
    tree src --dirsfirst
    tree -a -L 1
    tree -d src
    pwd
    pwd && ls
    pwd; ls -la
    dirname src/a.ts
    basename src/a.ts .ts
    realpath src
    realpath --relative-to=. src/a.ts
    readlink -f package.json
    stat package.json
    stat -c '%s %y' package.json
    du -sh .
    du -sh node_modules
    du -sh * | sort -h
    du -a src | sort -nr | head -20
    df -h
    df -h .
    file src/a.ts
    file -b --mime-type logo.png`,
  "prints files": String.raw`
    cat package.json
    cat README.md | head -40
    cat -n src/a.ts
    cat -A Makefile
    cat src/a.ts src/b.ts
    cat < package.json
    cat .gitignore
    cat package.json | jq .scripts
    cat tsconfig.json 2>/dev/null || echo missing
    cat src/*.ts | wc -l
    head -20 src/a.ts
    head -n 100 CHANGELOG.md
    head -c 200 data.bin | xxd
    tail -50 build.log
    tail -n +10 src/a.ts
    tail -n 20 build.log | grep -i error
    sed -n '1,80p' src/a.ts
    sed -n 10,20p src/a.ts
    sed -n '/^export/p' src/a.ts
    sed -n '5p;10p' src/a.ts
    sed 's/foo/bar/g' src/a.ts
    sed -e 's/a/b/' -e 's/c/d/' src/a.ts | head
    sed -E 's/([0-9]+)/<\1>/' data.csv
    sed '/^#/d' config.ini
    sed '$!d' build.log
    nl -ba src/a.ts | sed -n '120,160p'
    nl src/a.ts | tail
    less README.md
    more README.md
    tac build.log | head
    rev names.txt
    fold -w 80 README.md | head
    od -c data.bin | head
    od -An -tx1 data.bin
    hexdump -C data.bin | head -5
    xxd data.bin | head
    xxd -l 64 data.bin
    strings data.bin | head -20
    column -t -s, data.csv
    column -t < data.txt
    paste -d, a.txt b.txt
    expand -t 4 Makefile | head
    base64 logo.png | head -c 100
    echo aGVsbG8= | base64 -d
    zcat build.log.gz | tail
    zgrep -i error build.log.gz`,
  "counts, sorts and compares": String.raw`
    wc -l src/*.ts
    wc -c < data.bin
    wc -w README.md
    sort names.txt
    sort names.txt | uniq
    sort names.txt | uniq -c | sort -rn | head
    sort -u names.txt
    sort -t, -k2 -n data.csv
    sort -k2,2 -r data.txt | head -3
    uniq -c names.txt
    uniq -d names.txt
    cut -d, -f1,3 data.csv
    cut -c1-80 build.log
    cut -d: -f1 /etc/passwd
    tr a-z A-Z < names.txt
    tr -d '\r' < data.txt | head
    tr -s ' ' < data.txt
    comm -12 a.txt b.txt
    join a.txt b.txt
    diff a.txt b.txt
    diff -u src/a.ts src/b.ts
    diff -r src src2 | head
    diff -rq src src2
    diff <(sort a.txt) <(sort b.txt)
    cmp a.txt b.txt
    cmp -s a.txt b.txt && echo same
    md5sum data.bin
    sha256sum data.bin
    sha256sum package-lock.json | cut -d' ' -f1
    sha1sum src/*.ts
    cksum data.bin
    awk '{print $1}' data.txt
    awk -F, '{print $2}' data.csv
    awk -F: '{print $1}' /etc/passwd | sort
    awk 'NR>1 {sum+=$3} END {print sum}' data.csv
    awk 'NR==10,NR==20' src/a.ts
    awk '/^export/ {print FILENAME": "$0}' src/*.ts
    awk '{ if (length($0) > 100) print FNR": "$0 }' src/a.ts
    awk -v n=5 'NR<=n' data.txt
    awk 'END{print NR}' data.txt
    awk '!seen[$0]++' names.txt
    seq 1 5
    seq -w 1 10
    expr 3 + 4
    expr length hello
    factor 360
    numfmt --to=iec 123456789
    echo '2 * 21' | bc
    bc -l <<< '1/3'
    nproc
    shuf -n 5 names.txt
    join -t, a.csv b.csv`,
  "searches text": String.raw`
    grep -rn TODO src
    grep -rn "function main" src
    grep -rn --include='*.ts' 'export class' .
    grep -ri error build.log
    grep -c error build.log
    grep -E 'foo|bar' src/a.ts
    grep -o 'v[0-9.]*' CHANGELOG.md | head -1
    grep -v '^#' config.ini
    grep -A3 -B3 'class A' src/a.ts
    grep -l import src/*.ts
    grep -L license src/*.ts
    grep -w id src/a.ts
    grep -rn "useState(" src | wc -l
    grep -rl foo src | sort
    grep -rl foo src | xargs grep -n bar
    grep -rl foo src | xargs wc -l
    grep -rlZ foo src | xargs -0 ls -l
    grep -q foo src/a.ts && echo found
    grep -n "" src/a.ts | head
    grep -P '\d{3}' data.txt
    grep -rhoE 'process\.env\.[A-Z_]+' src | sort -u
    grep -rn "foo" . --exclude-dir=node_modules
    grep -Rn "rm -rf" scripts
    egrep 'a|b' data.txt
    fgrep '$x' data.txt
    rg TODO
    rg -n "function main" src
    rg -t ts 'export class'
    rg -l foo | head
    rg --files | head -50
    rg --files -g '*.ts' | wc -l
    rg -g '!*.test.ts' foo
    rg -i error build.log
    rg -A 5 'class A'
    rg -o 'v\d+' CHANGELOG.md
    rg -uu foo
    rg --hidden foo
    rg -c foo src
    rg -w id src
    rg 'a|b' src/a.ts
    rg -- --flag src
    rg -e foo -e bar src
    rg --json foo | head -2
    rg "import .* from" src --no-heading
    rg -U 'a\nb' src
    rg foo -C3 | head -100
    rg -F 'a.b(' src
    rg --type-list | head
    rg -N foo src | sort -u
    ag foo src
    ack foo src
    git grep -n foo
    git grep -n foo -- '*.ts'
    git grep -l foo HEAD
    git grep -c TODO
    git grep -e foo --and -e bar`,
  "finds files": String.raw`
    find . -name '*.ts'
    find . -name '*.ts' | head -20
    find src -type f | wc -l
    find . -type d -name node_modules -prune -o -name '*.js' -print
    find . -name package.json -not -path '*/node_modules/*'
    find . -maxdepth 2 -type d
    find . -mtime -1 -type f
    find . -newer package.json
    find . -size +1M
    find . -empty
    find . -name '*.md' -exec grep -l foo {} \;
    find . -name '*.md' -exec grep -l foo {} +
    find . -name '*.ts' -exec wc -l {} +
    find . -name '*.ts' | xargs grep -n foo
    find . -name '*.ts' -print0 | xargs -0 grep -l foo
    find src -name '*.py' -exec head -3 {} \;
    find src -type f -exec cat {} + | wc -l
    find . -type f -printf '%s %p\n' | sort -rn | head
    find . -type f -name '*.ts' -exec stat -c '%Y %n' {} + | sort -n | tail -1
    find . -iname '*readme*'
    find / -maxdepth 1
    find . -type l -ls
    find . -regex '.*/[a-c].ts'
    find . -path ./node_modules -prune -o -type f -print | head
    find . -name '*.ts' -exec sh -c 'wc -l "$1"' _ {} \;
    fd '\.ts$'
    fd -e ts
    fd -e ts . src
    fd -t d
    fd -H config
    which node
    which -a python3
    which node npm git
    type ls
    type -a python3
    command -v node
    command -v rg || echo none
    whereis gcc
    locate passwd | head -3`,
  "reads data": String.raw`
    jq . package.json
    jq -r .version package.json
    jq '.scripts | keys' package.json
    jq -r '.dependencies | keys[]' package.json
    jq -s 'add' a.json b.json
    jq '.[] | select(.id > 3)' data.json
    cat data.json | jq '.items | length'
    jq -c '.[]' data.json | head
    jq --arg v 1 '.a == $v' data.json
    jq -n '{a: 1}'
    yq .services docker-compose.yml
    yq -r '.jobs | keys' .github/workflows/ci.yml
    xmllint --xpath '//version/text()' pom.xml
    tar tf dist.tar
    tar -tf dist.tar.gz
    tar tzf dist.tar.gz | head
    tar -tvf dist.tar
    tar -xOf dist.tar package.json
    tar --list --file=dist.tar
    unzip -l dist.zip
    unzip -p dist.zip package.json
    unzip -v dist.zip
    unzip -t dist.zip
    zipinfo dist.zip
    zipinfo -1 dist.zip | head
    gunzip -c build.log.gz | head
    gzip -l build.log.gz
    gzip -dc build.log.gz | tail -1
    xz -l data.xz
    xz -dc data.xz | wc -c
    bzcat data.bz2 | head
    zstdcat data.zst | head
    nm -C lib.a | head
    objdump -d a.o | head -40
    readelf -h a.out
    size a.out
    openssl x509 -in cert.pem -noout -text
    openssl dgst -sha256 data.bin
    iconv -f latin1 -t utf-8 data.txt
    tsort deps.txt
    cloc src
    tokei
    shellcheck scripts/build.sh
    strings doc.pdf | head
    cmp logo.png logo2.png`,
});
