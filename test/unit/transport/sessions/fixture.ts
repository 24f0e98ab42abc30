/** Real sockets against the session gate, with nodes that only remember what they were told. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { WebSocket } from 'ws';
import type { Addressed } from '../../../../actors/messages.ts';
import type { Clock } from '../../../../actors/ports.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { systemClock } from '../../../../transport/net/clock.ts';
import { decodeAdminFrame } from '../../../../transport/protocol/codec.ts';
import type { AgentSettings } from '../../../../transport/protocol/agent-settings.ts';
import type { AdminFrame, AgentFrameBody } from '../../../../transport/protocol/frames.ts';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import { PROTOCOL_VERSION, SESSION_PATH, SESSION_SUBPROTOCOL } from '../../../../transport/protocol/version.ts';
import { createSessionGate, type GatePorts } from '../../../../transport/sessions/gate.ts';
import type { SessionPorts } from '../../../../transport/sessions/session-ports.ts';
import { Sessions } from '../../../../transport/sessions/sessions.ts';
import { CLUSTER, HEALTHY, id, NODE, REGISTRATION, SETTINGS } from '../../../support/actors.ts';
import { recordingLog } from '../../../support/log.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { listening } from '../../../support/net/listening.ts';

/** Tokens that the gate knows, and whose they are. */
export const TOKEN = 'token-of-the-node';

/** Running sessions, and what they told the actors. */
export interface Fixture {
  readonly sessions: Sessions;
  readonly url: string;
  readonly port: number;
  readonly told: Addressed[];
  readonly log: ReturnType<typeof recordingLog>;
  /** Answers of `tell`; true unless set. */
  takes: boolean;
  messages<T extends NodeMessage['type']>(type: T): Extract<NodeMessage, { type: T }>[];
  dial(options?: { readonly token?: string | null; readonly protocol?: string | null }): Agent;
  /** An agent that has said hello; of the first node unless another is wanted. */
  live(node?: number): Promise<Agent>;
}

/** Starts a server with the gate. `gate` replaces what it asks. */
export async function openGate(
  t: Scope,
  {
    gate = {},
    clock = systemClock,
    settings = SETTINGS.agent,
    holds = () => true,
  }: {
    readonly gate?: Partial<GatePorts>;
    readonly clock?: Clock;
    readonly settings?: AgentSettings;
    readonly holds?: SessionPorts['holds'];
  } = {},
): Promise<Fixture> {
  const log = recordingLog();
  const told: Addressed[] = [];
  const agents: Agent[] = [];
  const sessions = new Sessions({
    clock,
    log,
    settings,
    holds,
    revoked: () => {},
    welcomed: () => {},
    tell: (addressed) => {
      told.push(addressed);
      return fixture.takes;
    },
  });
  const admit = createSessionGate({
    sessions,
    log,
    monotonicMs: () => clock.nowMs(),
    wrongTokens: { add: () => 0, waitMs: () => 0, takeBack: () => {} },
    nodeByToken: (hash) => {
      const node = NODES_BY_HASH.get(Buffer.from(hash).toString('hex'));
      return Promise.resolve(node === undefined ? null : { node, cluster: CLUSTER });
    },
    deletedByToken: (hash) => Promise.resolve(Buffer.from(hash).toString('hex') === HASH_OF_DELETED),
    owns: () => true,
    ownerOf: () => Promise.resolve(null),
    relay: { received: () => null, passOn: () => false },
    ...gate,
  });
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    admit(request, socket, head);
  });
  const port = await listening(t, server);
  const fixture: Fixture = {
    sessions,
    told,
    log,
    port,
    url: `ws://127.0.0.1:${port}${SESSION_PATH}`,
    takes: true,
    messages: <T extends NodeMessage['type']>(type: T) =>
      told.flatMap(({ message }) => (message.type === type ? [message as Extract<NodeMessage, { type: T }>] : [])),
    dial({ token = TOKEN, protocol = SESSION_SUBPROTOCOL } = {}) {
      const agent = new Agent(
        new WebSocket(fixture.url, protocol === null ? [] : [protocol], {
          headers: token === null ? {} : { authorization: `Bearer ${token}` },
        }),
      );
      agents.push(agent);
      return agent;
    },
    async live(node = 1) {
      const agent = fixture.dial({ token: tokenOf(node) });
      await agent.opened();
      const before = fixture.messages('agent-connected').length;
      agent.hello({ node: nodeOf(node) });
      await until('the hello is heard', () => fixture.messages('agent-connected').length > before);
      return agent;
    },
  };
  t.teardown(() => {
    for (const agent of agents) agent.socket.terminate();
  });
  return fixture;
}

const HASH_OF_DELETED = createHash('sha256').update('token-of-a-deleted-node').digest('hex');

/** SHA-256 of TOKEN, as `printf token-of-the-node | sha256sum` says. */
const HASH_OF_TOKEN = 'fd5853e8385dc472e5e32122a76515d354d1ebc6e54c271574d25aff708b632c';

/** Nodes that the gate knows. */
const NODES = 64;

const nodeOf = (index: number): NodeId => id<NodeId>('b', index);

/** The token of one of them; the first has TOKEN. */
export function tokenOf(index: number): string {
  return index === 1 ? TOKEN : `${TOKEN}-${index}`;
}

const NODES_BY_HASH = new Map([
  [HASH_OF_TOKEN, NODE],
  ...Array.from(
    { length: NODES - 1 },
    (_, at) =>
      [
        createHash('sha256')
          .update(tokenOf(at + 2))
          .digest('hex'),
        nodeOf(at + 2),
      ] as const,
  ),
]);

/** An agent's end of a session. Sends what a test says, also what no agent would. */
export class Agent {
  readonly socket: WebSocket;
  readonly frames: AdminFrame[] = [];
  readonly #closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #refused: Promise<{ readonly status: number; readonly headers: NodeJS.Dict<string | string[]> }>;
  #seq = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    this.#refused = new Promise((resolve) => {
      socket.on('unexpected-response', (_request, response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
        socket.terminate();
      });
    });
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const decoded = decodeAdminFrame((data as Buffer).toString('utf8'));
      if (!decoded.ok) throw new Error(`the admin sent a bad frame: ${decoded.problem}`);
      if (decoded.frame.seq !== this.frames.length + 1)
        throw new Error(`the admin sent ${decoded.frame.seq} after ${this.frames.length}`);
      this.frames.push(decoded.frame);
    });
  }

  async opened(): Promise<void> {
    if (this.socket.readyState !== WebSocket.OPEN) await once(this.socket, 'open');
  }

  closed(): Promise<{ readonly code: number; readonly reason: string }> {
    return this.#closed;
  }

  refused(): Promise<{ readonly status: number; readonly headers: NodeJS.Dict<string | string[]> }> {
    return this.#refused;
  }

  hello(more: Partial<Extract<AgentFrameBody, { type: 'hello' }>> = {}): void {
    this.send({
      type: 'hello',
      protocol: 1,
      node: NODE,
      registration: REGISTRATION,
      report: HEALTHY,
      holding: [],
      ...more,
    });
  }

  send(body: AgentFrameBody): void {
    this.#seq += 1;
    this.socket.send(JSON.stringify({ seq: this.#seq, ...body }));
  }

  /** The text of the next frame, to be spoilt. */
  next(body: object): string {
    this.#seq += 1;
    return JSON.stringify({ seq: this.#seq, ...body });
  }
}

/** What a WebSocket client asks for first, for tests that do what none would do. */
export const UPGRADE = [
  `GET ${SESSION_PATH} HTTP/1.1`,
  'host: x',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  `sec-websocket-protocol: ${SESSION_SUBPROTOCOL}`,
  `authorization: Bearer ${TOKEN}`,
  '',
  '',
].join('\r\n');

/** The ids that the gate gives to TOKEN. */
export const GATED: { readonly node: NodeId; readonly cluster: ClusterId } = { node: NODE, cluster: CLUSTER };

/** The node lets its agent in. */
export async function welcomed(fixture: Fixture, agent: Agent): Promise<void> {
  const session = fixture.messages('agent-connected').at(-1)?.session;
  fixture.sessions.send(session as never, {
    type: 'welcome',
    protocol: PROTOCOL_VERSION,
    cluster_name: 'a',
    settings: SETTINGS.agent,
  });
  await until('the welcome', () => agent.frames.some(({ type }) => type === 'welcome'));
}
