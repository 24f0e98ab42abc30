/** A TLS connection to one relay, whose certificate is the one that the map says. */
import { createHash } from 'node:crypto';
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { createVet, type Vet } from '../../net/outbound-guard/vetting.ts';
import { ADDRESSES_MAX, CONNECT_MS_MAX, HANDSHAKE_MS_MAX } from './limits.ts';
import type { RelayNode, RelayReach } from '../relay-map/map.ts';

/** Why no relay was reached, in a sentence without addresses. */
export class RelayUnreachable extends Error {
  override readonly name = 'RelayUnreachable';
}

const relayVet = createVet({ allowPrivate: true });

/**
 * Opens it. Each of the addresses that were checked is tried in turn. Rejects with {@link RelayUnreachable}, also when
 * the signal ends it.
 */
export async function openRelaySocket(
  node: RelayNode,
  { vet = relayVet, ca }: RelayReach,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const addresses = await addressesOf(node, vet, signal);
  let problem = '';
  for (const address of addresses.slice(0, ADDRESSES_MAX)) {
    const tcp = await connected(address, node.port, signal).catch((error: unknown) => (error as Error).message);
    if (typeof tcp !== 'string') return await secured(tcp, node, ca, signal);
    problem = tcp;
  }
  throw new RelayUnreachable(`${node.hostName} cannot be reached: ${problem}`);
}

async function addressesOf(
  { hostName, addresses, closedFamilies }: RelayNode,
  vet: Vet,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const hosts = addresses.length > 0 ? addresses : [hostName];
  const found: string[] = [];
  for (const host of hosts) {
    const vetted = await vet(host, signal);
    if (!vetted.ok)
      throw new RelayUnreachable(
        vetted.kind === 'refused' ? `${hostName} must not be reached` : `${hostName} has no address now`,
      );
    found.push(
      ...vetted.addresses.filter(({ family }) => !closedFamilies.includes(family)).map(({ address }) => address),
    );
  }
  if (found.length === 0) throw new RelayUnreachable(`${hostName} has no address that may be used`);
  return found;
}

/** The socket, or a rejection that names no address. */
async function connected(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port, family: isIPv6(host) ? 6 : 4, noDelay: true, keepAlive: true });
  return await settled(
    socket,
    'connect',
    CONNECT_MS_MAX,
    signal,
    (error) => `it answers ${error.code ?? 'with an error'}`,
  );
}

async function secured(tcp: Socket, node: RelayNode, ca: string | undefined, signal: AbortSignal): Promise<TLSSocket> {
  const socket = connectTls({
    ...identification(node, ca),
    socket: tcp,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  await settled(
    socket,
    'secureConnect',
    HANDSHAKE_MS_MAX,
    signal,
    (error) => `TLS with ${node.hostName} failed: ${error.code ?? error.message}`,
  );
  const problem = pinProblem(socket, node);
  if (problem === null) return socket;
  socket.destroy();
  throw new RelayUnreachable(problem);
}

/** A pinned certificate is its own proof: nobody vouches for it, and it needs no name. */
function identification({ hostName, identity }: RelayNode, ca: string | undefined): ConnectionOptions {
  const name = identity.kind === 'name' ? identity.name : hostName;
  const servername = isIP(name) === 0 ? { servername: name } : {};
  if (identity.kind !== 'name') return { ...servername, rejectUnauthorized: false };
  return {
    ...servername,
    ...(ca !== undefined && { ca }),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
  };
}

function pinProblem(socket: TLSSocket, { hostName, identity }: RelayNode): string | null {
  if (identity.kind !== 'pin') return null;
  const certificate = socket.getPeerX509Certificate();
  const sha256 = certificate === undefined ? '' : createHash('sha256').update(certificate.raw).digest('hex');
  return sha256 === identity.sha256 ? null : `the certificate of ${hostName} is not the one of the relay map`;
}

/** Waits for an event of a socket, which is destroyed when it does not come. */
async function settled<S extends Socket>(
  socket: S,
  event: string,
  msMax: number,
  signal: AbortSignal,
  because: (error: NodeJS.ErrnoException) => string,
): Promise<S> {
  return await new Promise((resolve, reject) => {
    const fail = (problem: string): void => {
      end();
      socket.on('error', () => {});
      socket.destroy();
      reject(new RelayUnreachable(problem));
    };
    const onError = (error: NodeJS.ErrnoException): void => fail(because(error));
    const onClose = (): void => fail('it hung up');
    const onAbort = (): void => fail('nobody waits for it any more');
    const timer = setTimeout(() => fail(`it did not answer within ${msMax} ms`), msMax);
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', onError).off('close', onClose);
    };
    socket
      .once(event, () => {
        end();
        resolve(socket);
      })
      .on('error', onError)
      .on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
