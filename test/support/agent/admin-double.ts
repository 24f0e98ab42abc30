/** An admin as agents see it, for tests: real HTTP and WebSocket, no database, and it does only what the test says. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes, randomUUID } from 'node:crypto';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { decodeAgentFrame, encodeFrame } from '../../../transport/protocol/codec.ts';
import { encodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import type { AgentSettings } from '../../../transport/protocol/agent-settings.ts';
import type { AdminFrameBody, AgentFrame, Delivery } from '../../../transport/protocol/frames.ts';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import {
  ENROLL_PATH,
  NODE_DELETED,
  OWN_NODE_PATH,
  PROTOCOL_VERSION,
  REFUSAL_HEADER,
  SESSION_PATH,
} from '../../../transport/protocol/version.ts';
import { until } from '../until.ts';

type FrameOf<T extends AgentFrame['type']> = Extract<AgentFrame, { type: T }>;

/** One connection of an agent. */
export class DoubleSession {
  readonly frames: AgentFrame[] = [];
  readonly authorization: string;
  readonly #socket: WebSocket;
  #seq = 0;
  #isOpen = true;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.#socket = socket;
    this.authorization = request.headers.authorization ?? '';
    socket.on('close', () => {
      this.#isOpen = false;
    });
    socket.on('error', () => {});
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Frames of one type, so far. */
  of<T extends AgentFrame['type']>(type: T): FrameOf<T>[] {
    return this.frames.filter((frame): frame is FrameOf<T> => frame.type === type);
  }

  /** The results of an execution, so far. */
  resultsOf(execution: ExecutionId): FrameOf<'result'>['results'] {
    return this.of('result')
      .flatMap((frame) => frame.results)
      .filter((result) => result.execution === execution);
  }

  send(body: AdminFrameBody): void {
    this.#seq += 1;
    this.sendText(encodeFrame(body, this.#seq));
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Stops reading, as a stuck network does. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  take(frame: AgentFrame): void {
    this.frames.push(frame);
  }
}

/** What a double does by itself; everything on unless said otherwise. */
export interface DoubleHabits {
  /** Answers hello with welcome. */
  readonly welcomes?: boolean;
  /** Answers output-part with part-stored. */
  readonly storesParts?: boolean;
  /** Confirms results. */
  readonly confirms?: boolean;
  /** Answers ask-open with still-open for all of it, without end. */
  readonly opens?: boolean;
  /** Answers ping with pong. */
  readonly pongs?: boolean;
  /** Refuses connections with this HTTP status. */
  readonly refuses?: number;
  /** With a header that says that the node was deleted. */
  readonly saysDeleted?: boolean;
  readonly settings?: Partial<AgentSettings>;
  /** Answers a node that wants to be removed with this HTTP status. */
  readonly removes?: number;
  /** Answers an enrolment: status and body, or `drop` to cut the connection after reading the request. */
  readonly enrolls?: (request: Record<string, unknown>, attempt: number) => { status: number; body: unknown } | 'drop';
}

export class AdminDouble {
  readonly sessions: DoubleSession[] = [];
  readonly enrollments: Record<string, unknown>[] = [];
  /** What was shown by nodes that want to be removed. */
  readonly removals: string[] = [];
  readonly url: string;
  habits: DoubleHabits;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;

  private constructor(server: Server, habits: DoubleHabits) {
    this.#server = server;
    this.habits = habits;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#sockets = new WebSocketServer({ noServer: true, maxPayload: 1_048_576 });
    server.on('request', (request, response) => void this.#request(request, response));
    server.on('upgrade', (request, socket, head) => {
      if (request.url !== SESSION_PATH) socket.destroy();
      else if (this.habits.refuses !== undefined)
        socket.end(
          `HTTP/1.1 ${this.habits.refuses} Refused\r\n${this.habits.saysDeleted === true ? `${REFUSAL_HEADER}: ${NODE_DELETED}\r\n` : ''}content-length: 0\r\nconnection: close\r\n\r\n`,
        );
      else this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#connected(webSocket, request));
    });
  }

  static async start(habits: DoubleHabits = {}, port = 0): Promise<AdminDouble> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    return new AdminDouble(server, habits);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** A key blob that leads here. */
  key(): string {
    return encodeEnrollmentBlob({
      admin_urls: [this.url],
      cluster_name: 'test',
      nonce: randomBytes(24).toString('base64url'),
    });
  }

  /** Resolves with what `look` finds; otherwise what all sessions said is told. */
  async until<T>(what: string, look: () => T, msMax?: number): Promise<Exclude<T, false | null | undefined>> {
    return until<T>(what, look, msMax).catch((error: unknown) => {
      const said = this.sessions.map((session) => session.frames.map((frame) => frame.type));
      throw new Error(`${String(error)}; sessions: ${JSON.stringify(said)}`, { cause: error });
    });
  }

  /** The `index`-th session, once its hello is there. */
  async session(index = 0): Promise<DoubleSession> {
    return this.until(`session ${index}`, () => {
      const session = this.sessions[index];
      return session !== undefined && session.of('hello').length > 0 ? session : undefined;
    });
  }

  /** Sends a script to run; the answer is its id. */
  deliver(session: DoubleSession, commandText: string, more: Partial<Delivery> = {}): ExecutionId {
    const execution = more.execution ?? ExecutionId.parse(randomUUID());
    session.send({
      type: 'deliver',
      deliveries: [{ execution, command_text: commandText, timeout_ms: null, expires_in_ms: null, ...more }],
    });
    return execution;
  }

  /** The result of an execution in any session, with an output that came in parts put together. */
  async result(execution: ExecutionId, ms?: number) {
    return this.until(
      `the result of ${execution}`,
      () => {
        for (const session of this.sessions) {
          const [result] = session.resultsOf(execution);
          if (result === undefined) continue;
          const parts = session.of('output-part').filter((part) => part.execution === execution);
          return { ...result, output: result.parts === 0 ? result.output : parts.map((part) => part.text).join('') };
        }
        return undefined;
      },
      ms,
    );
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.terminate();
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #connected(socket: WebSocket, request: IncomingMessage): void {
    const session = new DoubleSession(socket, request);
    this.sessions.push(session);
    socket.on('message', (data) => {
      const decoded = decodeAgentFrame((data as Buffer).toString('utf8'));
      if (!decoded.ok) throw new Error(`the agent sent a bad frame: ${decoded.problem}`);
      if (decoded.frame.seq !== session.frames.length + 1) throw new Error('the agent left out a number');
      this.#answer(session, decoded.frame);
      session.take(decoded.frame);
    });
  }

  #answer(session: DoubleSession, frame: AgentFrame): void {
    const { welcomes = true, storesParts = true, confirms = true, pongs = true, opens = true } = this.habits;
    if (frame.type === 'hello' && welcomes)
      session.send({
        type: 'welcome',
        protocol: Math.min(PROTOCOL_VERSION, frame.protocol), // as an admin speaks with an agent of before
        cluster_name: 'test',
        settings: this.settings(),
      });
    if (frame.type === 'output-part' && storesParts)
      session.send({ type: 'part-stored', execution: frame.execution, part: frame.part });
    if (frame.type === 'result' && confirms)
      session.send({ type: 'confirm', executions: frame.results.map((result) => result.execution) });
    if (frame.type === 'ask-open' && opens)
      session.send({
        type: 'still-open',
        ask: frame.ask,
        executions: frame.executions.map((execution) => ({ execution, expires_in_ms: null })),
      });
    if (frame.type === 'ping' && pongs) session.send({ type: 'pong' });
    if (frame.type === 'refresh-settings') session.send({ type: 'settings', settings: this.settings() });
  }

  settings(): AgentSettings {
    return { admin_urls: [this.url], derp_map_urls: [], refresh_ms: 600_000, ...this.habits.settings };
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (request.method === 'DELETE' && request.url === OWN_NODE_PATH && this.habits.removes !== undefined) {
      this.removals.push(request.headers.authorization ?? '');
      return void response.writeHead(this.habits.removes).end();
    }
    if (request.url !== ENROLL_PATH) return void response.writeHead(404).end();
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Record<string, unknown>;
    this.enrollments.push(body);
    const answer = this.habits.enrolls?.(body, this.enrollments.length) ?? { status: 201, body: this.enrolled(body) };
    if (answer === 'drop') response.destroy();
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  }

  enrolled(body: Record<string, unknown>, token = 'token-of-the-node'): unknown {
    return {
      data: {
        node_id: body['node_id'],
        api_token: token,
        proxy_password: 'proxy-password',
        cluster_name: 'test',
        admin_urls: [this.url],
        settings: this.settings(),
      },
      meta: { request_id: 'r', timestamp: new Date().toISOString() },
    };
  }
}
