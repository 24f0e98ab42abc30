/** An agent by hand: enrolled like any other, and on its session it says whatever a test makes it say. */
import { randomBytes, randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import type { HealthReport } from '../../../transport/protocol/agent-description.ts';
import type { AdminFrame, AgentFrameBody } from '../../../transport/protocol/frames.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { SESSION_PATH, SESSION_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import type { AdminProgram } from './admin-program.ts';
import type { Fleet } from '../fleet.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { PORTS } from '../actors.ts';

/** How a session ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** One session. */
export interface RawSession {
  readonly frames: readonly AdminFrame[];
  readonly closed: Promise<Closed>;
  /** Sends a proper frame, numbered like those of a real agent. */
  send(body: AgentFrameBody): void;
  /** Sends anything. */
  sendRaw(data: string | Buffer): void;
  /** Ends the connection without a word. */
  cut(): void;
  /** The first frame of this type, once it is there. Rejects when the session is closed without it. */
  frame<T extends AdminFrame['type']>(type: T): Promise<Extract<AdminFrame, { type: T }>>;
}

/** An enrolled node without a program. */
export interface RawAgent extends EnrollAnswer {
  /**
   * Opens a session; with `greets`, says hello in this version of the protocol (1 unless given) and waits for the
   * welcome.
   */
  connect(options?: {
    readonly greets?: boolean;
    readonly holding?: readonly string[];
    readonly protocol?: number;
    /** Of the agent. */
    readonly version?: string;
    readonly selfUpdates?: boolean;
    readonly isHealthy?: boolean;
    /** Told of each frame as it comes. */
    readonly heard?: (frame: AdminFrame) => void;
  }): Promise<RawSession>;
}

/** What an agent posts to enrol. */
export function enrollment(key: string, node: string = randomUUID()) {
  return {
    enrollment_key: key,
    node_id: node,
    id_type: 'persistent',
    version: '0.0.1',
    ports: PORTS,
    self_update_enabled: false,
  };
}

/** Enrols with a fresh key, and as agents do tries again while the admin cannot. Its sessions end with the scope. */
export async function enrollRaw(
  scope: Scope,
  fleet: Pick<Fleet, 'rest' | 'key'> & { readonly admins: readonly Pick<AdminProgram, 'url'>[] },
): Promise<RawAgent> {
  const { key } = await fleet.key();
  const body = { ...enrollment(key), machine_secret: randomBytes(32).toString('base64url') };
  const answer = await until('the enrolment', async () => {
    const { status, data, text } = await fleet.rest.call<EnrollAnswer>('POST', '/agents/enroll', { body });
    if (status !== 201 && status !== 503) throw new Error(`POST /agents/enroll answered ${status}: ${text}`);
    return status === 201 && data;
  });
  return rawAgent(scope, () => fleet.admins[0]?.url ?? '', answer);
}

/** An agent that is enrolled already, at the admin of this URL. Its sessions end with the scope. */
export function rawAgent(scope: Scope, url: () => string, answer: EnrollAnswer): RawAgent {
  return {
    ...answer,
    async connect({ greets = true, holding = [], protocol = 1, ...said } = {}) {
      const { version = '0.0.1', selfUpdates = false, isHealthy = true, heard } = said;
      const session = await openSession(scope, url(), answer.api_token, heard);
      if (greets) {
        session.send({
          type: 'hello',
          protocol,
          node: answer.node_id,
          registration: { version, id_type: 'persistent', ports: PORTS, self_update_enabled: selfUpdates },
          report: reportOf(isHealthy),
          holding: [...holding] as never,
        });
        await session.frame('welcome');
      }
      return session;
    },
  };
}

/** What an agent says of its services. */
export function reportOf(isHealthy: boolean): HealthReport {
  return { services: isHealthy ? [] : [{ name: 'api', healthy: false, detail: 'it does not listen' }] };
}

async function openSession(
  scope: Scope,
  url: string,
  token: string,
  heard: (frame: AdminFrame) => void = () => {},
): Promise<RawSession> {
  const socket = new WebSocket(url.replace('http', 'ws') + SESSION_PATH, SESSION_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}` },
  });
  scope.teardown(() => socket.terminate());
  const frames: AdminFrame[] = [];
  let seq = 0;
  socket.on('message', (data) => {
    const frame = JSON.parse((data as Buffer).toString('utf8')) as AdminFrame;
    frames.push(frame);
    heard(frame);
  });
  let end: Closed | null = null;
  const closed = new Promise<Closed>((resolve) => {
    socket.on('close', (code, reason) => resolve((end = { code, reason: reason.toString('utf8') })));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve).once('error', reject);
  });
  socket.on('error', () => {}); // `close` follows
  return {
    frames,
    closed,
    send(body) {
      seq += 1;
      socket.send(JSON.stringify({ seq, ...body }));
    },
    sendRaw: (data) => socket.send(data),
    cut: () => socket.terminate(),
    async frame<T extends AdminFrame['type']>(type: T) {
      const found = () => frames.find((frame) => frame.type === type) as Extract<AdminFrame, { type: T }> | undefined;
      const seen = await until(`a ${type} frame`, () => found() ?? end);
      if (!('code' in seen)) return seen;
      throw new Error(`closed with ${seen.code} (${seen.reason}) before a ${type} frame came`);
    },
  };
}
