/** `edge-admin relay`: a relay that stands alone, without a database. */
import { createLog } from '../transport/net/pino-log.ts';
import { readSettings } from '../settings/environment.ts';
import { certificateFilesProblems, RELAY_SETTINGS, type RelayConfig } from '../settings/relay.ts';
import { openRelay } from '../transport/vpn/relay/open.ts';
import { createUrlAdmission } from '../transport/vpn/relay/url-admission.ts';
import { runUntilSignalled } from './resident-program.ts';

/** Its settings, or what is wrong with them, a line each. */
export function readRelayConfig(
  env: Readonly<Record<string, string | undefined>>,
): { readonly ok: true; readonly config: RelayConfig } | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readSettings(RELAY_SETTINGS, env);
  if (!read.ok) return read;
  const problems = certificateFilesProblems(
    'RELAY',
    read.settings.RELAY_TLS_CERT_FILE,
    read.settings.RELAY_TLS_KEY_FILE,
  );
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: read.settings };
}

/**
 * Runs until a signal. Its map goes to stdout, one line of JSON, to put behind one of CORE_DERP_MAP_URLS; it serves the
 * same under /derp-map.json.
 */
export async function relay(config: RelayConfig): Promise<never> {
  const log = createLog('edge-relay', config.LOG_LEVEL);
  return runUntilSignalled({
    log,
    describe: (error) => `edge-admin: ${startProblem(error, config)}`,
    start: async () => {
      const opened = await openRelay({
        host: config.RELAY_HOST,
        port: config.RELAY_PORT,
        hostName: config.RELAY_HOSTNAME.replace(/^\[(.*)\]$/u, '$1'),
        region: { id: config.RELAY_REGION_ID, code: config.RELAY_REGION_CODE },
        certificateFile: config.RELAY_TLS_CERT_FILE,
        keyFile: config.RELAY_TLS_KEY_FILE,
        dataDir: config.DATA_DIR,
        nowMs: Date.now(),
        admission: createUrlAdmission(config.RELAY_ADMISSION_URL),
        log,
      });
      process.stdout.write(`${JSON.stringify(opened.derpMap)}\n`);
      log.info({ port: opened.port, region: config.RELAY_REGION_ID }, 'edge-admin relay is ready');
      return { stop: () => opened.close() };
    },
  });
}

function startProblem(error: unknown, { RELAY_HOST: host, RELAY_PORT: port }: RelayConfig): string {
  const address = `RELAY_HOST ${host}, RELAY_PORT ${port}`;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `another program listens there already (${address}): end it, or set another RELAY_PORT`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no such address (${address}): set RELAY_HOST to one of its own, or 0.0.0.0 for all`;
    case 'EACCES':
      return `listening there needs more rights (${address}): set a RELAY_PORT above 1023`;
    case undefined:
    default:
      return (error as Error).message;
  }
}
