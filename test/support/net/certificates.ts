/** Certificates for tests of TLS: an authority of the test's own, and a server and a client that it vouches for. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';

/** Paths of PEM files. Keys are PKCS #8. */
export interface Certificates {
  readonly ca: string;
  readonly server: string;
  readonly serverKey: string;
  readonly client: string;
  readonly clientKey: string;
}

const run = promisify(execFile);

/** As long as a run of the tests may take, and a clock that is a little off. */
const DAYS = '2';

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];

/**
 * Makes them in a directory: ca.pem, server.pem, server-key.pem, client.pem, client-key.pem. The server is localhost,
 * 127.0.0.1 and ::1, unless told otherwise.
 */
export async function certificates(
  directory: string,
  serverNames = 'DNS:localhost,IP:127.0.0.1,IP:::1',
): Promise<Certificates> {
  const at = (name: string): string => join(directory, name);
  const made = {
    ca: at('ca.pem'),
    server: at('server.pem'),
    serverKey: at('server-key.pem'),
    client: at('client.pem'),
    clientKey: at('client-key.pem'),
  };
  const authority = ['-CA', made.ca, '-CAkey', at('ca-key.pem')];
  await certificate('Tests of one run', at('ca-key.pem'), made.ca, [
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  ]);
  await Promise.all([
    certificate('localhost', made.serverKey, made.server, [
      ...authority,
      '-addext',
      'basicConstraints=critical,CA:FALSE',
      '-addext',
      'extendedKeyUsage=serverAuth',
      '-addext',
      `subjectAltName=${serverNames}`,
    ]),
    certificate('edge-tests', made.clientKey, made.client, [
      ...authority,
      '-addext',
      'basicConstraints=critical,CA:FALSE',
      '-addext',
      'extendedKeyUsage=clientAuth',
    ]),
  ]);
  return made;
}

async function certificate(name: string, key: string, file: string, options: readonly string[]): Promise<void> {
  await run('openssl', [
    'req',
    '-x509',
    ...NEW_KEY,
    '-days',
    DAYS,
    '-subj',
    `/CN=${name}`,
    '-keyout',
    key,
    '-out',
    file,
    ...options,
  ]);
  await chmod(key, 0o644); // some servers give up root before they read it; the directory is the test's own
}

/** From here on this process trusts their authority, as with NODE_EXTRA_CA_CERTS; does nothing where there are none. */
export function trust(certificates: Certificates | null): void {
  if (certificates) setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificates.ca, 'utf8')]);
}
