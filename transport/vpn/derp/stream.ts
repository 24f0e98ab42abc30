/** The stream of bytes to a relay: an HTTP upgrade to DERP, or a WebSocket where something between passes only that. */
import { request, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import { DERP_PATH, DERP_SUBPROTOCOL, DERP_VERSION, HTTP_HEADER_BYTES_MAX } from './protocol.ts';
import { FRAME_BYTES_MAX, HANDSHAKE_MS_MAX } from './limits.ts';
import { DERP_PORT, type RelayNode, type RelayReach } from '../relay-map/map.ts';
import { openRelaySocket, RelayUnreachable } from './socket.ts';

/** Both ways to speak, in the order in which they are tried. */
export const DERP_FORMS = ['upgrade', 'web-socket'] as const;
/** One of them. */
export type DerpForm = (typeof DERP_FORMS)[number];

/** The relay answers, but not in this form: it, or a proxy before it, does not know it. */
export class FormRefused extends Error {
  override readonly name = 'FormRefused';
}

/**
 * Opens it, within `handshakeMsMax` once it is connected. `head` was read already. Rejects with {@link FormRefused}
 * where the other form may work, else with {@link RelayUnreachable}.
 */
export async function openRelayStream(
  node: RelayNode,
  form: DerpForm,
  reach: RelayReach,
  signal: AbortSignal,
  handshakeMsMax: number = HANDSHAKE_MS_MAX,
): Promise<{ readonly stream: Duplex; readonly head: Buffer }> {
  const socket = await openRelaySocket(node, reach, signal);
  // Of all of it, and not of silence: interim answers may come for ever.
  const late = AbortSignal.timeout(handshakeMsMax);
  const limit = AbortSignal.any([signal, late]);
  const onAbort = (): void => void socket.destroy();
  limit.addEventListener('abort', onAbort, { once: true });
  try {
    return form === 'upgrade' ? await upgraded(socket, node) : await webSocket(socket, node);
  } catch (error) {
    socket.on('error', () => {}).destroy();
    if (signal.aborted) throw new RelayUnreachable('nobody waits for it any more');
    throw late.aborted ? lateError(form, node, handshakeMsMax) : error;
  } finally {
    limit.removeEventListener('abort', onAbort);
  }
}

function lateError(form: DerpForm, { hostName }: RelayNode, ms: number): Error {
  const problem = `${hostName} did not answer within ${ms} ms`;
  return form === 'upgrade' ? new FormRefused(problem) : new RelayUnreachable(problem);
}

async function upgraded(
  socket: TLSSocket,
  node: RelayNode,
): Promise<{ readonly stream: Duplex; readonly head: Buffer }> {
  return await new Promise((resolve, reject) => {
    const asked = request({
      createConnection: () => socket,
      path: DERP_PATH,
      maxHeaderSize: HTTP_HEADER_BYTES_MAX,
      headers: { host: hostOf(node), connection: 'Upgrade', upgrade: 'DERP', 'derp-version': String(DERP_VERSION) },
    });
    asked.on('upgrade', (answer: IncomingMessage, _socket, head: Buffer) => {
      if (answer.headers.upgrade?.toLowerCase() === 'derp') resolve({ stream: socket, head });
      else reject(new FormRefused(`${node.hostName} switched to something else than DERP`));
    });
    asked.on('response', (answer) =>
      reject(new FormRefused(`${node.hostName} answered DERP with status ${answer.statusCode ?? 0}`)),
    );
    asked.on('error', () => reject(new FormRefused(`${node.hostName} hung up on DERP`)));
    asked.end();
  });
}

async function webSocket(
  socket: TLSSocket,
  node: RelayNode,
): Promise<{ readonly stream: Duplex; readonly head: Buffer }> {
  const asked = new WebSocket(`wss://${hostOf(node)}${DERP_PATH}`, DERP_SUBPROTOCOL, {
    createConnection: () => socket,
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES_MAX * 2,
  });
  await new Promise<void>((resolve, reject) => {
    asked.once('open', resolve);
    asked.once('error', (error) =>
      reject(
        new RelayUnreachable(`${node.hostName} takes neither DERP nor a WebSocket: ${error.message.slice(0, 120)}`),
      ),
    );
  });
  return { stream: createWebSocketStream(asked), head: Buffer.alloc(0) };
}

function hostOf({ hostName, port }: RelayNode): string {
  const host = isIPv6(hostName) ? `[${hostName}]` : hostName;
  return port === DERP_PORT ? host : `${host}:${port}`;
}
