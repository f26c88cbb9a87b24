// deno-fmt-ignore-file: one line of shell a line
/** Forms of destructive commands and similar ones; each causes a prompt. */
export const EMBEDDED: readonly (readonly string[])[] = [
  [`python3 -c 'import subprocess; subprocess.run(["rm","-rf","/"])'`, `python3 -c 'import subprocess; subprocess.call("rm -rf /", shell=True)'`, `python3 -c 'from subprocess import Popen; Popen(["/bin/rm", "--recursive", "/"])'`, `python3 -c 'import os; os.system("rm -fr ~")'`],
  [`python3 -c 'import os; os.execvp("rm", ["rm", "-rf", "/"])'`, `python3 -c 'import os; os.execlp("rm", "rm", "-r", "/")'`, `python3 -c 'import os; os.execv("/bin/rm", ("rm", "-Rf", "/"))'`, `python3 -c 'import os; os.posix_spawn("/bin/rm", ["rm", "-rf", "/"], {})'`],
  [`python3 -c 'import shutil; shutil.rmtree("/")'`, `python3 -c 'from shutil import rmtree as r; r("/")'`, `python3 <<'E'\nimport shutil\nshutil.rmtree("/home")\nE`, `echo 'import shutil; shutil.rmtree("/")' | python3 -`],
  [`deno eval 'Deno.removeSync("/",{recursive:true})'`, `deno eval 'await Deno.remove("/", { recursive: true })'`, `deno eval 'const { removeSync: r } = Deno; r("/", {recursive: true})'`, `deno eval 'new Deno.Command("rm", { args: ["-rf", "/"] }).spawn()'`],
  [`node -e 'require("fs").rm("/", {recursive:true}, () => {})'`, `node -e 'fs.rmSync("/", { force: true, recursive: true })'`, `node -e 'fs.promises.rm("/", {recursive: true})'`, `node -e 'fs.rmdirSync("/", { recursive: true })'`],
  [`node -e 'child_process.execSync("rm -rf /")'`, `node -p 'require("child_process").spawnSync("rm", ["-rf", "/"])'`, "node -e 'child_process.execFileSync(`rm`, [`-r`, `/`])'", `bun -e 'Bun.spawnSync(["rm", "-rf", "/"])'`],
  [`perl -e 'system("rm", "-rf", "/")'`, `perl -e 'exec qw(rm -rf /)'`, `perl -MFile::Path -e 'rmtree("/")'`, `perl -e 'use File::Path qw(remove_tree); remove_tree("/")'`],
  [`ruby -e 'FileUtils.rm_rf("/")'`, `ruby -e 'FileUtils.rm_r "/"'`, `ruby -e 'FileUtils.remove_dir("/")'`, `ruby -e '\`rm -rf /\`'`],
  [`php -r 'exec("rm -rf /");'`, `lua -e 'os.execute("rm -r /")'`, `pwsh -c 'Remove-Item / -Recurse -Force'`, `Rscript -e 'unlink("/x"); system("rm -rf /")'`],
  [`python3 -c 'import os; os.kill(-1, 9)'`, `node -e 'process.kill(-1)'`, `perl -e 'kill(-1, 9); exec("killall5")'`, `ruby -e 'system("shutdown now")'`],
  [`python3 -c 'import subprocess; subprocess.run(["git", "push", "--force"])'`, `python3 -c 'import os; os.system("git push -f")'`, `node -e 'child_process.execSync("git push --mirror")'`, `perl -e 'system("git", "push", "-f")'`],
  [`ssh host 'rm -rf /srv'`, `ssh host rm -r /srv`, `ssh -p 22 host "sudo rm -fr /srv"`, `ssh host sudo reboot`],
];

export const SYSTEM: readonly (readonly string[])[] = [
  ["rsync -a --delete src/ user@host:/srv", "rsync -az --delete-after src/ host:/srv", "rsync -a --del src/ rsync://host/module", "rsync -a --delete-excluded src/ user@host:"],
  ["hdparm --security-erase NULL /dev/sda", "hdparm --user-master u --security-erase-enhanced p /dev/sda", "sudo hdparm --security-erase NULL /dev/sda", "hdparm --trim-sector-ranges 1:2 /dev/sda"],
  ["nvme format /dev/nvme0n1", "nvme sanitize -a 2 /dev/nvme0", "nvme delete-ns /dev/nvme0 -n 1", "sudo nvme format /dev/nvme0n1"],
  ["badblocks -w /dev/sda", "badblocks -wsv /dev/sda", "badblocks -t random -w /dev/sda", "sudo badblocks -sw /dev/sda"],
  ["zpool destroy tank", "zpool destroy -f tank", "zpool labelclear -f /dev/sda", "zfs destroy -r tank/home"],
  ["killall5", "killall5 -9", "kill -9 -1", "kill -s KILL -- -1"],
  ["git send-pack --force host:repo main", "git send-pack host:repo +main", "git send-pack --mirror host:repo", "git -C src send-pack --force host:repo"],
];

/** Deny rules in lower case, and lines that are equal on a case-insensitive file system. */
export const CASES: readonly (readonly [rule: string, lines: readonly string[]])[] = [
  ["Bash(rm:*)", ["RM x", "/bin/Rm x", "/BIN/RM -f x", "sudo Rm x"]],
  ["Bash(git push:*)", ["GIT push", "Git push origin", "/usr/bin/GIT push", "env GIT push"]],
  ["Bash(curl:*)", ["CURL x", "Curl -s x", "nice CURL x", "ls | xargs CURL"]],
];
export const UPPER: readonly (readonly string[])[] = [
  ["RM -rf ~", "/bin/Rm -rf ~", "Sudo RM -rf /", "RM -rf .."],
  ["GIT push --force", "Git push -f", "/usr/bin/GIT push --mirror", "GIT push origin +main"],
  ["SHUTDOWN now", "MkFs.ext4 /dev/sda", "Dd if=x of=/dev/sda", "FIND ~ -delete"],
];

/** With network access these delete on another machine. */
export const SERVICES: readonly (readonly string[])[] = [
  ["kubectl delete pod web", "kubectl -n prod delete ns prod", "kubectl drain node-1", "kubectl apply -f x.yaml --prune", "kubectl exec web -- rm -rf /data", "oc delete project x"],
  ["helm uninstall web", "helm -n prod delete web", "helm upgrade web . --force", "helm del web"],
  ["terraform destroy", "terraform apply -destroy", "terraform state rm aws_x.y", "terraform -chdir=infra destroy -auto-approve", "tofu destroy", "terragrunt destroy"],
  ["pulumi destroy", "cdk destroy", "sls remove", "sam delete"],
  ["aws s3 rm s3://b/x", "aws s3 rb s3://b --force", "aws s3 sync . s3://b --delete", "aws ec2 terminate-instances --instance-ids i", "aws --region eu rds delete-db-instance --db x", "aws dynamodb delete-table --table-name t"],
  ["gcloud compute instances delete x", "gcloud projects delete p", "gcloud --project p sql instances delete x", "gcloud storage rm gs://b/x", "gsutil rm -r gs://b", "bq rm -t d.t"],
  ["az group delete -n g", "az vm delete -n v", "az keyvault purge -n k", "az storage blob delete-batch -s c", "azcopy remove https://x"],
  ["docker volume rm data", "docker system prune -af", "docker rm -f web", "docker compose down --volumes", "docker exec web rm -rf /data", "podman volume prune", "docker-compose rm"],
  ["psql -c 'drop table users'", "psql -h db -c 'TRUNCATE users'", "psql <<'E'\nDELETE FROM users;\nE", "echo 'drop database x' | psql", "psql -c 'alter table a drop column b'"],
  ["mysql -e 'drop database shop'", "mysql shop -e 'delete from orders'", "mysql <<'E'\ntruncate orders;\nE", "mysqladmin drop shop", "mariadb -e 'DROP USER x'", "dropdb shop"],
  ["redis-cli flushall", "redis-cli -h cache FLUSHDB", "redis-cli del key", "echo flushall | redis-cli", "valkey-cli flushall"],
  ["mongosh --eval 'db.dropDatabase()'", "mongosh db --eval 'db.users.deleteMany({})'", "mongo --eval 'db.a.remove({})'", "mongosh --eval 'db.a.drop()'"],
  ["gh repo delete o/r", "gh release delete v1", "gh api -X DELETE repos/o/r", "gh api --method DELETE /x", "gh secret remove X", "glab repo delete x"],
  ["heroku apps:destroy x", "heroku pg:reset", "fly apps destroy x", "wrangler d1 delete x", "doctl compute droplet delete 1", "vercel rm x", "firebase firestore:delete x", "supabase db reset"],
  ["vault kv delete secret/x", "vault kv metadata delete x", "etcdctl del / --prefix", "consul kv delete -recurse x", "nomad job stop -purge x", "rabbitmqctl delete_queue q", "rclone purge remote:x", "kafka-topics.sh --delete --topic t"],
  ["cqlsh -e 'DROP KEYSPACE k'", "clickhouse-client -q 'drop table t'", "sqlcmd -Q 'DELETE FROM t'", "snowsql -q 'truncate t'"],
];

/** The same programs when they delete nothing. */
export const SERVICE_READS: readonly string[] = [
  "kubectl get pods", "kubectl -n prod logs web", "kubectl apply -f x.yaml", "kubectl delete pod web --dry-run=client", "kubectl describe pod delete",
  "helm list", "helm upgrade --install web .", "terraform plan", "terraform apply", "terraform fmt", "aws s3 ls", "aws s3 cp a s3://b/a", "aws ec2 describe-instances",
  "gcloud compute instances list", "az group list", "docker ps", "docker build -t x .", "docker run --rm x", "docker compose up -d", "docker compose -f delete.yml up", "docker logs web",
  "psql -c 'select 1'", "psql -c 'insert into a values (1)'", "mysql -e 'show tables'", "redis-cli get x", "redis-cli ping", "mongosh --eval 'db.users.find()'",
  "gh pr list", "gh issue list --search delete", "gh pr create --title 'Delete it'", "gh api repos/o/r", "vault kv get secret/x", "rclone copy a remote:b", "helm help delete", "aws s3 rm --help",
];
