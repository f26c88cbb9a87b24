import type { SayingWords } from "../../../core/mod.ts";

/** A sentence for each code. */
export type Says = { readonly [C in keyof SayingWords]: (...words: SayingWords[C]) => string };

const server = (provider: string, host: string) => `供应商“${provider}”（${host}）`;
const quoted = (said: string) => said === "" ? "" : `：${said}`;

/** What a status of the server is about. */
const ANSWERS: Readonly<Record<string, string>> = {
  auth: "拒绝了请求",
  not_found: "找不到地址或模型",
  context_length: "认为对话对模型来说太长",
  rate_limit: "认为请求太频繁",
  content_filter: "的内容过滤拒绝了请求",
};

/** What providers and the way to them answer. */
export const PROVIDERS = {
  answered: (provider, host, ...[kind, status, said]) =>
    `${server(provider, host)}${ANSWERS[kind] ?? "返回了错误"}` +
    `${status === "" ? "" : `（状态码 ${status}）`}${quoted(said)}`,
  notReached: (provider, host, said) => `无法连接${server(provider, host)}${quoted(said)}`,
  brokeOff: (provider, host, said) => `${server(provider, host)}中断了应答${quoted(said)}`,
  noAddress: (provider, host) => `供应商“${provider}”：找不到主机 ${host}（DNS）`,
  silent: (provider, host, seconds, setting) =>
    `${server(provider, host)}已有 ${seconds} 秒没有应答；模型较慢时请调大该供应商的 ${setting}`,
  strangeReply: (provider, host, what) => `${server(provider, host)}的应答不符合协议（${what}）`,
  declined: (provider, host, why) => `${server(provider, host)}中断了回答，因为模型拒绝作答${quoted(why)}`,
  askOtherwise: () => "请换一种说法，或用 /rewind 回到引起拒绝的消息之前",
  gaveUp: (attempts) => `尝试 ${attempts} 次后放弃`,
  gaveUpAt: (attempts, limit) => `尝试 ${attempts} 次后放弃，${limit}`,
  asksToWait: (seconds, limit) => `它要求等待 ${seconds} 秒，超过了 ${limit} 所剩的时间`,
  fellBack: (failed, next) => `${failed} 失败，改由 ${next} 应答`,
  answersAgain: (model) => `重新使用 ${model}`,
  passedOver: (model, why) => `${model} 不能代为应答：${why}`,
  foreignParts: (sources, model) => `请求中不含 ${sources} 签名的推理内容：${model} 无法接受`,
  goesWithout: (field) => `此后的请求不再带 ${field}`,
  noServerStart: (provider, what) => `无法启动供应商“${provider}”的服务器：${what}`,
  serverFailed: (provider, how, lines, log) =>
    `供应商“${provider}”的服务器已不可用（${how}）${quoted(lines)}${log === "" ? "" : `；日志：${log}`}`,
  startsAgain: () => "正在重新启动服务器",
  serverListens: (provider, host) =>
    `供应商“${provider}”的服务器监听 ${host}：其他机器也能访问，只有密钥能阻止它们`,
  modelLoads: (model, size, seconds) => `正在加载模型… ${seconds} 秒（${model}，${size}）`,
  modelLoaded: (model, seconds) => `${model} 已加载，用时 ${seconds} 秒`,
  addCredit: () => "请为账户充值，或换一个供应商",
  needsTools: (model) =>
    `如果“${model}”不会调用工具，请设置 tool_mode = "pseudo"（把调用写成文字），或换一个能调用工具的模型`,
  alternate: () => "请为该供应商设置 compat = { alternate_roles = true }：其对话模板要求用户与助手轮流发言",
  dayQuota: () => "当天的配额已用完：请等到次日，或换一个模型或密钥",
  noQuota: () => "该密钥没有此模型的配额：请换一个模型，或为该密钥开通付费",
  redirected: (url) => `请求被重定向到 ${url}，未予跟随：如果这正是您要用的服务器，请把它的地址写入 base_url`,
  nameKey: () => "请把该供应商的 api_key_env 设为保存密钥的变量",
  checkKey: (name) => `请检查 ${name} 的值`,
  setKey: (name) => `请在环境变量或 Reasonix 主目录的 .env 文件中设置 ${name}`,
  checkCommand: () => "请检查 api_key_command 的输出",
  keyRenewed: (provider, host, status) =>
    `${server(provider, host)}拒绝了密钥（状态码 ${status}）；api_key_command 给出了新的密钥`,
  keyCommand: (provider, command, what) =>
    `供应商“${provider}”没有密钥：api_key_command（${command}）失败（${what}）；请在终端中运行它，看看它说什么`,
  checkModel: (model) => `请检查该供应商的 base_url 和模型名“${model}”`,
  checkSetting: (setting) => `请检查 ${setting}`,
  checkServer: () => "请检查 base_url，并确认服务正在运行",
  startServer: (label, command) => `启动 ${label} 的命令：${command}`,
  proxyRefuses: (host, setting) =>
    `代理 ${host} 没有程序在监听：请启动它，或更正${
      setting === "proxy" ? "该供应商的 proxy" : ` ${setting}`
    }`,
  checkNetwork: (proxy) =>
    proxy === "set"
      ? "请检查网络、代理和 base_url"
      : "请检查网络和 base_url；如果此网络需要代理，请设置 HTTPS_PROXY",
  proxyIsSet: (variable, host) => `已设置 ${variable}：如果 ${host} 不需要代理，请把它加入 NO_PROXY`,
  proxyLogin: () => "请在代理地址中写上代理要求的用户名和密码",
  tooLong: () => "请用 /compact 压缩对话，或用 /new 开始新对话",
  noCaFile: (file) => `DENO_CERT 指向的文件无法读取：${file}`,
  authority: (setting) =>
    "它的证书是证书颁发机构的证书（CA:TRUE），服务器不能使用：请用 openssl req -x509 -addext " +
    "basicConstraints=critical,CA:FALSE … 重新生成，" +
    `并用 ${setting} 指向该文件`,
  certificate: (other) =>
    `如果它值得信任，请用 DENO_CERT 指向其证书颁发机构的文件${
      other ? "（只有 DENO_TLS_CA_STORE=system 时才读取 SSL_CERT_FILE）" : ""
    }，或设置 DENO_TLS_CA_STORE=system 以使用本机信任的机构`,
  providerCertificate: () =>
    "如果它值得信任，请用该供应商的 ca_file 指向其证书颁发机构的文件，或设置 DENO_TLS_CA_STORE=system 以使用本机信任的机构",
  clientCertificate: () =>
    "服务器要求出示您的证书：请设置 client_cert_file 和 client_key_file，并确认它们是服务器认可的",
  noTls: (setting) => `那里的服务不使用 TLS：请检查 ${setting}，可能要以 http:// 开头`,
  noHttp: (setting) => `那里的服务不使用 HTTP：请检查 ${setting}，可能要以 https:// 开头`,
} satisfies Partial<Says>;
