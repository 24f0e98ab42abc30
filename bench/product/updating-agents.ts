/** Agents that update when they are asked to, or do not come back: bare sessions, a socket each. */
import { WebSocket } from 'ws';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION, SESSION_PATH, SESSION_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import { nodeId, nodeToken } from '../fleet/nodes.ts';
import { REGISTRATION } from './simulated-agent.ts';

/** Pings, in ms: two within the silence after which an admin takes a session for dead. */
const PING_EVERY_MS = 8_000;

/** Dialled at once, at most. */
const DIALLING_MAX = 50;

/** A fleet of them. */
export class UpdatingAgents {
  /** Agents that were asked, each time. */
  asked = 0;
  readonly #port: number;
  readonly #sockets: (WebSocket | undefined)[] = [];
  /** Whether the new version works. */
  readonly #isGood: boolean;

  constructor(port: number, isGood: boolean) {
    this.#port = port;
    this.#isGood = isGood;
  }

  /** Resolves when all are welcomed. */
  async connect(count: number): Promise<void> {
    for (let from = 0; from < count; from += DIALLING_MAX)
      await Promise.all(
        Array.from({ length: Math.min(DIALLING_MAX, count - from) }, (_, at) => this.#dial(from + at, '1.0.0')),
      );
  }

  close(): void {
    for (const socket of this.#sockets) socket?.terminate();
  }

  #dial(index: number, version: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${this.#port}${SESSION_PATH}`, SESSION_SUBPROTOCOL, {
        headers: { authorization: `Bearer ${nodeToken(index)}` },
      });
      this.#sockets[index] = socket;
      let seq = 0;
      const send = (body: AgentFrameBody): void => {
        seq += 1;
        socket.send(JSON.stringify({ seq, ...body }));
      };
      let pinging: NodeJS.Timeout | undefined;
      socket.on('open', () => {
        send({
          type: 'hello',
          protocol: PROTOCOL_VERSION,
          node: nodeId(index) as never,
          registration: { ...REGISTRATION, version, self_update_enabled: true },
          report: { services: [] },
          holding: [],
        });
        pinging = setInterval(() => send({ type: 'ping' }), PING_EVERY_MS);
      });
      socket.on('message', (data) => {
        const frame = JSON.parse((data as Buffer).toString('utf8')) as AdminFrame;
        if (frame.type === 'welcome') resolve();
        if (frame.type !== 'update') return;
        this.asked += 1;
        send({ type: 'update-answer', request: frame.request, accepted: true, error: null });
        if (this.#isGood) void this.#dial(index, '1.1.0');
      });
      socket.on('close', () => clearInterval(pinging));
      socket.on('error', reject);
    });
  }
}
