/**
 * The place where the proxy appears inside a jail. The port is private to the jail's network namespace, so it
 * can be the same everywhere.
 */
export const PROXY_PORT = 3128;

/**
 * Variables by which programs find the proxy. Names are left to it as well, so nothing asks a name server.
 */
export function proxyEnvironment(port: number): Record<string, string> {
  const http = `http://127.0.0.1:${port}`;
  const socks = `socks5h://127.0.0.1:${port}`;
  const local = "localhost,127.0.0.1,::1";
  return {
    HTTP_PROXY: http,
    http_proxy: http,
    HTTPS_PROXY: http,
    https_proxy: http,
    ALL_PROXY: socks,
    all_proxy: socks,
    NO_PROXY: local,
    no_proxy: local,
  };
}
