/**
 * Agents that update when they are asked to, as the release makes them: bare sessions, a socket each. What an updater
 * does beside each of them takes as long as here, instead of minutes.
 */
import { WebSocket } from 'ws';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import { PROTOCOL_VERSION, SESSION_PATH, SESSION_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import { nodeId, nodeToken } from '../fleet/nodes.ts';
import { REGISTRATION } from './simulated-agent.ts';

/** Reports, in ms: two within the silence after which an admin takes a session for dead. */
const REPORT_EVERY_MS = 8_000;

/** What each says of its services. */
const HEALTHY = { services: [] };

/** Dialled at once, at most. */
const DIALLING_MAX = 50;

/** The versions before and after. */
const [BEFORE, AFTER] = ['1.0.0', '1.1.0'];

/** What a release does to an agent. `lost`: it never comes back, as where nothing takes it back. */
export type ReleaseKind = 'good' | 'crashes' | 'hangs' | 'cannot-connect' | 'lost';

/**
 * From the end of the old agent until the machine is back, in ms; null: never. A real one takes 1.4 s, a crash loop
 * some 10 s, and what is not well 5 minutes.
 */
const AWAY_MS: Readonly<Record<ReleaseKind, number | null>> = {
  good: 300,
  crashes: 1_000,
  hangs: 5_000,
  'cannot-connect': 5_000,
  lost: null,
};

/** A fleet of them. */
export class UpdatingAgents {
  /** The release that an updater would find. */
  release: ReleaseKind = 'good';
  /** Agents that were asked, each time. */
  asked = 0;
  readonly #port: number;
  readonly #sockets: (WebSocket | undefined)[] = [];
  #isOver = false;

  constructor(port: number) {
    this.#port = port;
  }

  /** Resolves when all are welcomed. */
  async connect(count: number): Promise<void> {
    for (let from = 0; from < count; from += DIALLING_MAX)
      await Promise.all(
        Array.from({ length: Math.min(DIALLING_MAX, count - from) }, (_, at) => this.#dial(from + at, BEFORE)),
      );
  }

  close(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket?.terminate();
  }

  /** Comes back, and says what came of it. */
  #restart(index: number, request: string): void {
    const { release } = this;
    this.#sockets[index]?.close();
    const awayMs = AWAY_MS[release];
    if (awayMs === null) return;
    const outcome = release === 'good' ? 'updated' : 'rolled_back';
    const error = release === 'good' ? null : `the new version ${release}`;
    const told = { request, outcome, from: BEFORE, to: AFTER, error } as UpdateOutcome;
    setTimeout(() => {
      if (!this.#isOver) void this.#dial(index, release === 'good' ? AFTER : BEFORE, told);
    }, awayMs);
  }

  #dial(index: number, version: string | undefined, told: UpdateOutcome | null = null): Promise<void> {
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
      let reporting: NodeJS.Timeout | undefined;
      socket.on('open', () => {
        send({
          type: 'hello',
          protocol: PROTOCOL_VERSION,
          node: nodeId(index) as never,
          registration: { ...REGISTRATION, version: version ?? '', self_update_enabled: true },
          report: HEALTHY,
          holding: [],
        });
        reporting = setInterval(() => send({ type: 'report', report: HEALTHY }), REPORT_EVERY_MS);
      });
      socket.on('message', (data) => {
        const frame = JSON.parse((data as Buffer).toString('utf8')) as AdminFrame;
        if (frame.type === 'welcome') {
          resolve();
          if (told !== null) send({ type: 'update-outcome', ...told });
        }
        if (frame.type !== 'update') return;
        this.asked += 1;
        send({ type: 'update-answer', request: frame.request, accepted: true, error: null });
        this.#restart(index, frame.request);
      });
      socket.on('close', () => clearInterval(reporting));
      socket.on('error', reject);
    });
  }
}
