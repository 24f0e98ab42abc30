/** A real `edge-admin serve` that can be killed and started again on its port. */
import type { Scope } from '../scope.ts';
import { freePort } from '../net/free-ports.ts';
import type { AdminPlace } from '../networks/admin-networks.ts';
import { programFile } from '../run/programs.ts';
import { Program } from './program.ts';

/** An admin on a machine that is busy with many others may take this long to start, in ms. */
const READY_MS_MAX = 90_000;

/** One admin over all of its runs. */
export interface AdminProgram {
  readonly name: string;
  /** Where it answers, also after a restart. */
  readonly url: string;
  /** Where agents are told to reach it: its URL, or something that stands before it. */
  readonly dialledUrl: string;
  readonly httpProxyPort: number;
  readonly socks5ProxyPort: number;
  /** The run of now. */
  readonly program: Program;
  /** All runs, for their logs. */
  readonly runs: readonly Program[];
  /** Resolves when it serves. `changed`: settings of this run that differ from those before. */
  start(changed?: Readonly<Record<string, string>>): Promise<void>;
  /** `kill -9`, and the end of it. */
  kill(): Promise<void>;
}

/** Puts something before an admin, and tells the URL of that. */
export type FrontProxy = (adminUrl: string) => Promise<string>;

/**
 * Prepares an admin on a free port; `start` starts it. `env` holds its settings but for name, port and URLs. `file`:
 * the program of another release. `place`: a network of its own, from which and at whose address it serves.
 */
export async function prepareAdmin(
  scope: Scope,
  name: string,
  env: Readonly<Record<string, string>>,
  before: FrontProxy = async (adminUrl) => Promise.resolve(adminUrl),
  file: 'edge-admin' | URL = 'edge-admin',
  place: AdminPlace = { address: '127.0.0.1', entry: [] },
): Promise<AdminProgram> {
  const port = await freePort();
  const httpProxyPort = await freePort();
  const socks5ProxyPort = await freePort();
  const url = `${env['ADMIN_TLS_CERT_FILE'] === undefined ? 'http' : 'https'}://${place.address}:${port}`;
  const dialledUrl = await before(url);
  const runs: Program[] = [];
  const current = (): Program => {
    const last = runs.at(-1);
    if (last === undefined) throw new Error(`${name} was not started`);
    return last;
  };
  return {
    name,
    url,
    dialledUrl,
    httpProxyPort,
    socks5ProxyPort,
    runs,
    get program() {
      return current();
    },
    async start(changed = {}) {
      const program = file instanceof URL ? file.pathname : programFile(file);
      const words = [...place.entry, process.execPath, program, 'serve'];
      const run = Program.run(scope, words[0] ?? process.execPath, words.slice(1), {
        ADMIN_API_HOST: place.address,
        ADMIN_API_PORT: String(port),
        ADMIN_PROXY_HOST: '127.0.0.1',
        ADMIN_HTTP_PROXY_PORT: String(httpProxyPort),
        ADMIN_SOCKS5_PROXY_PORT: String(socks5ProxyPort),
        ADMIN_OBSERVER_PORT: '0',
        ADMIN_GATEWAY_ENABLED: 'false',
        ADMIN_NAME: name,
        ADMIN_URLS: dialledUrl,
        ADMIN_PEER_URL: url,
        ...env,
        ...changed,
      });
      runs.push(run);
      await run.logged('edge-admin is ready', 0, READY_MS_MAX);
    },
    async kill() {
      current().kill();
      await current().ended();
    },
  };
}
