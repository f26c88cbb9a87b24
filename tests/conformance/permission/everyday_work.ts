// deno-fmt-ignore-file: one line of shell a line
import { everyday } from "./everyday_lines.ts";

/** Lines that change the workspace, or run project content, inside the jail. */
export const WORK = everyday("work", {
  "builds and tests with the project's own tools": String.raw`
    npm test
    npm run build
    npm run lint -- --fix
    npm run test:unit -- --watch=false
    npm start
    npm run dev &
    npm ls --depth=0
    npm outdated
    npm audit
    npm view react version
    npx tsc --noEmit
    npx tsc -p tsconfig.json
    npx eslint src --fix
    npx prettier --write src
    npx prettier --check .
    npx vitest run
    npx vitest run src/a.test.ts
    npx jest --coverage
    npx playwright test
    npx vite build
    pnpm test
    pnpm run build
    pnpm -r build
    pnpm lint
    yarn test
    yarn build
    yarn workspace web build
    bun test
    bun run build
    deno test
    deno test -A tests/unit
    deno task build
    deno fmt
    deno lint
    deno check mod.ts
    deno run -A scripts/gen.ts
    node index.js
    node --test
    node scripts/build.mjs
    node dist/cli.js --help
    python3 main.py
    python3 -m pytest
    python3 -m pytest -x -q tests/test_a.py
    python3 -m pytest -k 'foo and not bar'
    python3 -m unittest discover
    python3 -m http.server 8000 &
    python3 -m mypy src
    python3 -m venv .venv
    python3 -m compileall src
    python3 setup.py build
    pytest
    pytest -q
    pytest tests/test_a.py::test_b -vv
    pytest --lf 2>&1 | tail -30
    tox -e py311
    ruff check .
    ruff check --fix src
    ruff format .
    black src
    mypy src
    flake8 src
    isort .
    cargo build
    cargo build --release
    cargo test
    cargo test -- --nocapture
    cargo test parser::tests
    cargo check
    cargo clippy -- -D warnings
    cargo fmt
    cargo run -- --help
    cargo tree
    cargo bench
    cargo doc --no-deps
    go build ./...
    go test ./...
    go test -run TestA -v ./pkg/a
    go test -race -count=1 ./...
    go vet ./...
    go fmt ./...
    go generate ./...
    go run ./cmd/app
    go list ./...
    go mod tidy
    make
    make -j8
    make test
    make clean
    make build 2>&1 | tail -20
    make -C docs html
    make CC=clang
    make install DESTDIR=build
    cmake -S . -B build
    cmake --build build -j
    ctest --test-dir build
    ninja -C build
    mvn test
    mvn -q package -DskipTests
    ./gradlew test
    ./gradlew build --info
    gradle build
    bundle exec rspec
    rake test
    rails db:migrate
    php artisan test
    composer test
    dotnet build
    dotnet test
    swift build
    zig build
    mix test
    sbt test
    just build
    task lint
    ./configure --prefix=$PWD/out
    ./scripts/build.sh
    bash scripts/build.sh
    sh scripts/test.sh --fast
    ./a.out
    gcc -O2 -o a.out a.c
    gcc -Wall -c a.c && ./a.out
    g++ -std=c++20 main.cpp -o main && ./main
    clang -fsyntax-only a.c
    javac A.java && java A
    rustc a.rs && ./a
    tsc
    tsc --noEmit
    eslint .
    prettier -w src/a.ts
    vite build
    CI=1 npm test
    NODE_ENV=production npm run build
    RUST_BACKTRACE=1 cargo test
    timeout 60 npm test
    time make -j4
    npm test 2>&1 | tee test.log
    npm test > test.log 2>&1; tail -20 test.log
    npm run build && npm test
    cd web && npm run build
    (cd api && go test ./... 2>&1 | tail -5)
    npm test || npm test -- --verbose
    nohup npm run dev > dev.log 2>&1 &
    for d in packages/*; do (cd $d && npm test); done
    if npm test; then echo passed; else echo failed; fi
    source .venv/bin/activate && pytest
    . .venv/bin/activate; python main.py
    uv run pytest
    poetry run pytest
    hyperfine './a.out'
    strace -c ./a.out
    valgrind ./a.out
    sqlite3 app.db '.tables'
    sqlite3 app.db 'select count(*) from users'
    sqlite3 app.db < schema.sql
    psql -c 'select 1'
    redis-cli ping
    protoc --go_out=. api.proto
    terraform validate
    terraform fmt
    helm lint chart
    kubectl get pods
    docker ps
    docker build -t app .
    docker compose up -d
    act -l`,
  "asks a program that the project may choose": String.raw`
    cargo --version
    rustc --version
    rustc -V`,
  "installs packages and fetches": String.raw`
    npm install
    npm ci
    npm install lodash
    npm i -D typescript @types/node
    npm uninstall lodash
    npm update
    npm init -y
    npm pkg set type=module
    pnpm install
    pnpm add zod
    yarn
    yarn add -D vitest
    bun install
    deno add jsr:@std/assert
    deno install
    pip install -r requirements.txt
    pip install -e .
    pip install requests
    pip freeze > requirements.txt
    pip list
    pip show requests
    python3 -m pip install pytest
    uv sync
    uv pip install ruff
    poetry install
    poetry add httpx
    cargo add serde
    cargo install --path .
    cargo update
    go get ./...
    go install ./cmd/app
    go mod download
    bundle install
    gem install rake
    composer install
    brew list
    apt list --installed
    apt-cache search jq
    curl -s https://example.com
    curl -sSL https://example.com/data.json | jq .
    curl -o data.json https://example.com/data.json
    curl -I http://localhost:3000
    curl -X POST -d '{"a":1}' http://localhost:3000/api
    curl -fsS http://localhost:8080/health || echo down
    wget -q https://example.com/data.csv
    wget -O out.html https://example.com
    ping -c 1 localhost
    nc -z localhost 3000
    gh pr list
    gh pr view 12
    gh issue list --limit 5
    gh run view 123 --log | tail
    npx create-vite app --template react-ts`,
  "works with git": String.raw`
    git add .
    git add -A
    git add src/a.ts
    git add -p
    git commit -m "Fix parser"
    git commit -am "Fix parser"
    git commit --amend --no-edit
    git commit -m "Fix parser" -m "It read one word too many."
    git add -A && git commit -m "wip"
    git checkout -b feature/a
    git checkout main
    git checkout -- src/a.ts
    git switch -c feature/b
    git switch main
    git restore src/a.ts
    git restore --staged .
    git reset
    git reset --soft HEAD~1
    git reset --hard HEAD
    git reset HEAD src/a.ts
    git stash
    git stash pop
    git stash push -m wip src
    git stash drop
    git merge feature/a
    git merge --abort
    git rebase main
    git rebase --continue
    git rebase --abort
    git cherry-pick abc123
    git revert HEAD --no-edit
    git branch feature/c
    git branch -d feature/a
    git branch -D feature/a
    git branch -m old new
    git tag v1.0.0
    git tag -a v1.0.0 -m "Version 1"
    git fetch
    git fetch origin
    git fetch --all --prune
    git pull
    git pull --rebase
    git push
    git push -u origin feature/a
    git push origin main --tags
    git clone https://example.com/repo.git
    git clone --depth 1 https://example.com/repo.git lib
    git init
    git remote add upstream https://example.com/repo.git
    git submodule update --init
    git mv a.ts b.ts
    git rm old.ts
    git rm --cached .env.local
    git apply fix.patch
    git am < fix.patch
    git format-patch -1
    git worktree add wt feature/a
    git worktree remove wt
    git config user.name "A B"
    git config core.autocrlf input
    git bisect start HEAD v1.0
    git bisect run npm test
    git clean -n
    git gc
    git archive -o out.tar HEAD
    git notes add -m reviewed
    git update-index --chmod=+x scripts/build.sh
    git checkout stash@{0} -- src/a.ts
    git log --oneline > log.txt
    git diff > fix.patch`,
  "edits and moves files": [
    ..."mkdir build|mkdir -p src/lib/a|touch src/new.ts|cp a.txt b.txt|cp -r src backup|cp src/*.ts out/|mv a.txt c.txt|mv src/*.js lib/".split("|"),
    ..."rm a.txt|rm -f build.log|rm -rf build|rm -rf dist node_modules|rm -r out/|rm *.log|rmdir empty|rm -rf build && mkdir build".split("|"),
    ..."rm -rf ./build/*|rm -rf coverage .nyc_output|ln -s ../a.txt link|chmod +x scripts/build.sh|chmod -R u+w build|truncate -s 0 build.log".split("|"),
    ..."sed -i 's/foo/bar/' src/a.ts|sed -i.bak 's/a/b/g' config.ini|perl -pi -e 's/foo/bar/g' src/*.ts|patch -p1 < fix.patch".split("|"),
    ..."tar czf dist.tar.gz dist|tar xzf dist.tar.gz|tar xf dist.tar -C out|zip -r dist.zip dist|unzip dist.zip|unzip -o dist.zip -d out|gzip -k build.log|gunzip data.gz".split("|"),
    ..."echo hello > a.txt|echo line >> notes.md|printf 'a\\nb\\n' > list.txt|cat a.txt b.txt > c.txt|sort names.txt -o names.txt|ls > files.txt|: > build.log".split("|"),
    "jq '.version = \"2.0.0\"' package.json > tmp.json && mv tmp.json package.json",
    "date > stamp",
    "grep foo a.txt | tee hits.txt",
    "split -l 100 data.csv part_",
    "find . -name '*.pyc' -delete",
    "find . -name __pycache__ -type d -exec rm -rf {} +",
    "find src -name '*.js' -exec mv {} lib/ \\;",
    "find . -name '*.orig' | xargs rm -f",
    "grep -rl foo src | xargs sed -i 's/foo/bar/g'",
    "for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done",
    "for f in src/*.js; do sed -i 's/var /let /' \"$f\"; done",
    "cat > src/new.ts <<'EOF'\nexport const a = 1;\nEOF",
    "cat >> notes.md <<EOF\n- done\nEOF",
    "mkdir -p out && cp -r dist/* out/ && ls out",
    "tmp=$(mktemp) && sort names.txt > \"$tmp\" && mv \"$tmp\" names.txt",
    "d=$(mktemp -d) && cp -r src \"$d\" && ls \"$d\" && rm -rf \"$d\"",
    "cd $(mktemp -d) && git init -q && rm -rf *",
    "rm -rf /tmp/test-out && mkdir /tmp/test-out",
    "rm -rf /tmp/build-* /var/tmp/cache",
    "cp src/a.ts /tmp/a.ts && diff src/a.ts /tmp/a.ts",
    "echo test > /tmp/x && cat /tmp/x",
    "rsync -a src/ backup/",
    "rsync -a --delete dist/ out/",
    "install -m 755 a.out bin/a",
    "dd if=/dev/zero of=blob bs=1M count=1",
    "openssl rand -hex 16 > nonce.txt",
    "base64 logo.png > logo.txt",
    "kill %1",
    "kill 12345",
    "kill -9 $(pgrep -f 'node dev')",
    "pkill -f 'vite --port 3000'",
    "npm run dev > dev.log 2>&1 & sleep 2; curl -s localhost:3000; kill $!",
    "(sleep 1; echo late) & wait",
  ],
  "runs code that stands in the line": [
    "python3 -c 'print(1 + 1)'",
    "python3 -c 'import sys; print(sys.version)'",
    "python3 -c \"import json; print(json.load(open('package.json'))['version'])\"",
    "python3 -c 'import requests; print(requests.__version__)'",
    "python3 -c 'import ast,sys; ast.parse(open(\"a.py\").read())'",
    "python3 -c 'from app import main; main()'",
    "python3 -c 'print(open(\"a.txt\").read().count(\"x\"))'",
    "python3 -c 'open(\"out.txt\", \"w\").write(\"x\")'",
    "python3 -c 'import os; print(os.getcwd(), os.listdir(\".\"))'",
    "python3 -c 'import pathlib; [print(p) for p in pathlib.Path(\".\").glob(\"**/*.py\")]'",
    "python3 -c 'import datetime; print(datetime.date.today())'",
    "python3 -c 'import yaml; yaml.safe_load(open(\".github/workflows/ci.yml\"))'",
    "python3 -c 'import os; os.remove(\"out.txt\")'",
    "python3 -c 'import torch; print(torch.cuda.is_available())'",
    "python3 -c \"import re; print(re.findall(r'\\d+', 'a1b22'))\"",
    "python3 -m json.tool package.json",
    "python3 -m json.tool < data.json | head",
    "python3 -m timeit -n 10 '\"-\".join(map(str, range(100)))'",
    "python3 -m this",
    "python3 -m site",
    "python3 -m pip list",
    "echo 'print(1)' | python3",
    "python3 - <<'EOF'\nprint(sum(range(10)))\nEOF",
    "python3 <<'EOF'\nimport json\nd = json.load(open('a.json'))\nprint(len(d))\nEOF",
    "python3 - a.txt <<'EOF'\nimport sys\nprint(open(sys.argv[1]).read())\nEOF",
    "python3 <<EOF\nprint('$HOME')\nEOF",
    "cat data.json | python3 -c 'import json,sys; print(json.load(sys.stdin)[\"id\"])'",
    "curl -s localhost:3000/api | python3 -m json.tool",
    "python -c 'print(1)'",
    "python3 -B -c 'print(1)'",
    "node -e 'console.log(1)'",
    "node -e 'console.log(require(\"./package.json\").version)'",
    "node -p 'process.version'",
    "node -p 'JSON.stringify(require(\"./tsconfig.json\"))'",
    "node -e \"const fs=require('fs');console.log(fs.readdirSync('.').length)\"",
    "node -e 'fs.writeFileSync(\"out.txt\", \"x\")'",
    "node --input-type=module -e 'import(\"./a.mjs\").then(console.log)'",
    "node <<'EOF'\nconsole.log([1,2,3].map((x) => x * 2));\nEOF",
    "node - <<'EOF'\nconsole.log(process.argv.length);\nEOF",
    "echo 'console.log(1)' | node",
    "deno eval 'console.log(Deno.version)'",
    "bun -e 'console.log(1)'",
    "perl -e 'print 1 + 1'",
    "perl -ne 'print if /foo/' data.txt",
    "perl -pe 's/a/b/' data.txt",
    "perl -MPOSIX -e 'print floor(3.7)'",
    "perl -lane 'print $F[0]' data.txt",
    "ruby -e 'puts 1 + 1'",
    "ruby -rjson -e 'puts JSON.parse(File.read(\"package.json\"))[\"version\"]'",
    "php -r 'echo 1 + 1;'",
    "lua -e 'print(1)'",
    "awk 'BEGIN { system(\"date\") }'",
    "awk '{ print $1 > \"out.txt\" }' data.txt",
    "bash -c 'echo hi > a.txt'",
    "bash <<'EOF'\nset -e\nnpm test\nEOF",
    "sh -c 'cd src && ls > ../files.txt'",
    "eval \"$(ssh-agent -s)\"",
    "export NODE_ENV=test; npm test",
    "xargs -I{} sh -c 'echo {} >> out.txt' < names.txt",
  ],
});

/** Lines that reach what neither the jail nor a checkpoint can bring back. */
export const PERSON = everyday("person", {
  "rewrites history that others share": [
    "git push --force-with-lease",
    "git push origin --delete feature/old",
  ],
  "deletes below the home directory": ["rm -rf ~/.cache/pip", "rm -rf ~/project-old"],
  "deletes every untracked file of the repository, ignored ones too": ["git clean -fdx"],
  "changes a file that other programs execute by themselves": ["git config core.hooksPath .husky", "echo 'use nix' > .envrc"],
});
