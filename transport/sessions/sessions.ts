/** All live control sessions of this admin: frames in become messages to nodes, frames out go to their sockets. */
import type { WebSocket } from 'ws';
import type { NodeMessage } from '../../actors/node/messages.ts';
import type { SessionLink } from '../../supervisors/ports.ts';
import type { SessionSnapshot } from '../../actors/inspection.ts';
import { CLOSE, IN_DOUBT_REASON, type CloseCode } from '../protocol/close-codes.ts';
import type { AdminFrameBody, AgentFrame } from '../protocol/frames.ts';
import type { ClusterId, NodeId, SessionId } from '../protocol/ids.ts';
import { HELLO_MS_MAX } from '../protocol/limits.ts';
import { PROTOCOL_VERSION_GREET } from '../protocol/version.ts';
import { asKnownTo, isKnownTo, nodeMessageOf, problemOf } from './agent-messages.ts';
import { Connections } from './connections.ts';
import { Connection, urlReason, type SessionVia } from './connection.ts';
import { Departures } from './departures.ts';
import { createFrameCounters, INVALID } from './frame-counters.ts';
import { HeardNodes, type HeardNode } from './heard-nodes.ts';
import { CLOSE_GRACE_MS, SESSIONS_PER_SECOND_MAX, SWEEP_MS } from './limits.ts';
import { createLiveTails } from './live-tails.ts';
import { createNodeQuotas } from './node-quotas.ts';
import type { SessionCounters, SessionPorts } from './session-ports.ts';
import { SocketListeners } from './socket-listeners.ts';
import { Strays } from './strays.ts';
import { turnAway } from './turned-away.ts';
import { createStallDetector, type StallDetector } from './stall-detector.ts';
import { createUnstored } from './unstored-output.ts';

/** The live sessions, for actors (SessionLink), feeds (`tails`) and metrics. None at first. */
export class Sessions implements SessionLink {
  readonly counters: SessionCounters = { opened: 0, cut: 0, frames: createFrameCounters() };
  readonly tails = createLiveTails((node, frame) => this.sendToNode(node, frame));
  readonly #ports: SessionPorts;
  readonly #connections = new Connections();
  readonly #unstored = createUnstored();
  readonly #quotas = createNodeQuotas();
  readonly #stallDetector: StallDetector;
  readonly #listeners = new SocketListeners({
    message: (connection, data, isBinary) => this.#message(connection, data, isBinary),
    closed: (connection) => {
      if (connection !== undefined) this.#gone(connection);
    },
    failed: (connection, error) => this.#failed(connection, error),
  });
  readonly #heardNodes = new HeardNodes();
  /** Sessions that are to go on at another admin, and wait to be told. */
  readonly #departures: Departures<Connection>;
  readonly strays: Strays;
  #last = 0;
  #isClosed = false;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
    this.#stallDetector = createStallDetector(ports.clock);
    this.#departures = new Departures({
      clock: ports.clock,
      random: Math.random,
      tell: (connection, url) => this.#cutOff(connection, CLOSE.elsewhere, urlReason(url)),
    });
    const comeAgain = (connection: Connection): void => this.#cutOff(connection, CLOSE.shuttingDown, IN_DOUBT_REASON);
    this.strays = new Strays(this.#connections, this.#departures, ports, comeAgain);
    ports.clock.after(SWEEP_MS, () => this.#sweep());
  }

  /**
   * Takes over an authenticated socket, `via` an admin where one passed it on. Answers 0, or for how many ms its node
   * may begin no further session: then it was closed.
   */
  accept(socket: WebSocket, node: NodeId, cluster: ClusterId, via: SessionVia | null = null): number {
    const nowMs = this.#ports.clock.nowMs();
    const quota = this.#quotas.of(node, nowMs);
    if (!quota.takeSession(nowMs)) {
      this.counters.cut += 1;
      turnAway(socket, node, quota, this.#ports);
      return Math.ceil(1_000 / SESSIONS_PER_SECOND_MAX);
    }
    this.#last += 1;
    const connection = new Connection(this.#last as SessionId, { node, cluster, socket, quota, via }, nowMs);
    this.#connections.add(connection);
    this.counters.opened += 1;
    this.#listeners.attach(socket, connection);
    if (this.#isClosed) connection.close(CLOSE.shuttingDown, STOPPING);
    return 0;
  }

  count = (): number => this.#connections.size;

  /** Whether the node has a live session here. */
  has = (node: NodeId): boolean => this.#connections.of(node)?.welcomed === true;

  /** The admin, by its name, that passes the session of a node on; null: none does, or it has no session here. */
  relayedBy = (node: NodeId): string | null => this.#connections.of(node)?.relayedBy ?? null;

  /** Whether the agent of a node came by TLS, to this admin or to a proxy before it. */
  isSecure(node: NodeId): boolean {
    return this.#connections.of(node)?.via?.isSecure ?? false;
  }

  /** The version that the agent of a node speaks; 0: it has no session here. */
  protocolOf = (node: NodeId): number => this.#connections.of(node)?.protocol ?? 0;

  /** At most `limit` sessions as they are seen from outside, those first that were silent for longest. */
  snapshots(limit: number): readonly SessionSnapshot[] {
    return [...this.#connections.values()].sort((one, other) => one.heardMs - other.heardMs).slice(0, limit);
  }

  send(session: SessionId, frame: AdminFrameBody, cluster?: ClusterId): void {
    const one = this.#connections.get(session);
    if (one === undefined) return;
    if (cluster !== undefined) one.cluster = cluster;
    if (frame.type === 'welcome' && one.welcomed) return; // its hello was decided again: an agent takes one
    this.#transmit(one, frame);
  }

  /** Sends to the live session of the node. False: none was welcomed here, or its agent does not know such frames. */
  sendToNode(node: NodeId, frame: AdminFrameBody): boolean {
    const one = this.#connections.of(node);
    return one?.welcomed === true && this.#transmit(one, frame); // before it an agent takes anything for a broken admin
  }

  hangUp(session: SessionId, code: CloseCode, reason: string): void {
    const connection = this.#connections.get(session);
    if (code === CLOSE.elsewhere && connection !== undefined && this.#departures.has(connection)) return; // in its turn
    this.#cutOff(connection, code, reason);
  }

  /** Also one that has not said hello: it came with the token that was good then. */
  hangUpNode(node: NodeId, code: CloseCode, reason: string): void {
    for (const connection of this.#connections.allOf(node)) this.#cutOff(connection, code, reason);
  }

  /** What this agent said to the node that was is said again to the one that is: its journal keeps it. */
  renew(session: SessionId, cluster: ClusterId): void {
    const connection = this.#connections.get(session);
    if (connection === undefined) return;
    const canRenew = connection.protocol >= PROTOCOL_VERSION_GREET && connection.greeted;
    if (!canRenew || !this.#transmit(connection, { type: 'greet' }))
      return this.#cutOff(connection, CLOSE.elsewhere, '');
    this.#gone(connection);
    this.#last += 1;
    const next = connection.renewed(this.#last as SessionId, cluster, this.#ports.clock.nowMs());
    this.#connections.add(next);
    this.#listeners.renew(next);
    next.resume('rate');
  }

  /** Nodes heard since the last call, each with the time, for `last_seen_at`. */
  heard(): readonly HeardNode[] {
    return this.#heardNodes.take(this.#connections.ofNodes(), this.#ports.clock.nowMs());
  }

  depart(clusters: ReadonlySet<ClusterId>, url: string): void {
    this.#departures.add(
      [...this.#connections.values()].filter(({ cluster }) => clusters.has(cluster)),
      url,
    );
  }

  departing = (): number => this.#departures.size;

  departed = (msMax: number): Promise<void> => this.#departures.over(msMax);

  /** Says goodbye to all agents: they come back to another admin, or to this one when it is back. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) this.#close(connection, CLOSE.shuttingDown, STOPPING);
  }

  #message(connection: Connection | undefined, data: Buffer, isBinary: boolean): void {
    if (connection === undefined || this.#connections.get(connection.id) !== connection) return;
    if (isBinary) return this.#broke(connection, 'a binary frame');
    const received = connection.receive(data.toString('utf8'), this.#ports.clock.nowMs());
    if (!received.ok) return this.#broke(connection, received.problem);
    if (received.frame === null) return;
    this.counters.frames.in[received.frame.type] += 1;
    const waitMs = connection.spend(data.length, this.#ports.clock.nowMs());
    if (waitMs > 0) this.#holdBack(connection, waitMs);
    try {
      this.#heard(connection, received.frame, data.length);
    } catch (error) {
      // a fault of ours, which costs this session and no other
      this.#ports.log.error({ node: connection.node, error }, 'a frame could not be handled');
      this.#cut(connection, 'a frame that could not be handled');
    }
  }

  #broke(connection: Connection, problem: string): void {
    this.counters.frames.in[INVALID] += 1;
    this.#cut(connection, problem);
  }

  /** It sends more than its share: the rest waits in its own socket, and the others do not (L1). */
  #holdBack(connection: Connection, waitMs: number): void {
    connection.pause('rate');
    this.#ports.clock.after(waitMs, () => connection.resume('rate'));
  }

  #failed(connection: Connection | undefined, error: Error): void {
    // `close` follows. What `ws` refuses by itself (too large, not UTF-8) ends here with its own close code.
    this.#ports.log.info({ node: connection?.node, error: error.message }, 'a session failed');
    if (connection !== undefined) this.counters.cut += 1;
  }

  #heard(connection: Connection, frame: AgentFrame, bytes: number): void {
    if (frame.type === 'hello' && !this.#departures.has(connection)) return this.#greeted(connection, frame);
    if (frame.type === 'ping') return this.#answer(connection);
    if (frame.type === 'tail-output') return this.tails.arrived(connection.node, frame);
    if (frame.type === 'refresh-settings')
      return void this.#transmit(connection, { type: 'settings', settings: this.#ports.settings });
    if (this.#departures.has(connection)) return; // it says it again where it goes
    if (frame.type === 'report') connection.reported();
    this.#unstored.heard(connection, frame, bytes);
    this.#tell(connection, nodeMessageOf(frame, connection, this.#ports.clock.nowMs()));
  }

  /** What is told with a ping spreads over a fleet as its pings do. */
  #answer(connection: Connection): void {
    const { settings } = this.#ports;
    if (this.#transmit(connection, { type: 'pong' }) && connection.isToldOtherwise(settings))
      this.#transmit(connection, { type: 'settings', settings });
  }

  #greeted(connection: Connection, hello: Extract<AgentFrame, { type: 'hello' }>): void {
    const problem = problemOf(hello, connection.node);
    if (problem !== null) return this.#cut(connection, problem);
    connection.hello(hello);
    this.#connections.greeted(connection);
    this.#tell(connection, nodeMessageOf(hello, connection, this.#ports.clock.nowMs()));
  }

  #tell(connection: Connection, message: NodeMessage): void {
    if (!this.#ports.tell({ to: { kind: 'node', id: connection.node }, message }))
      this.#cut(connection, 'too many frames wait to be handled');
  }

  #transmit(connection: Connection, frame: AdminFrameBody): boolean {
    if (!isKnownTo(connection.protocol, frame)) return false;
    this.counters.frames.out[frame.type] += 1;
    if (frame.type === 'welcome') connection.welcomed = true;
    this.#unstored.sent(connection, frame);
    if (!connection.send(asKnownTo(connection.protocol, frame))) {
      this.#cut(connection, 'the agent does not read');
      return false;
    }
    if (frame.type === 'welcome') this.tails.welcomed(connection.node);
    if (frame.type === 'welcome') this.#ports.welcomed(connection.node);
    return true;
  }

  #cut(connection: Connection, problem: string): void {
    this.counters.cut += 1;
    this.#ports.log.warn({ node: connection.node, problem }, 'a session broke the contract and was cut');
    this.#close(connection, CLOSE.policy, problem);
    this.#gone(connection);
  }

  #gone(connection: Connection): void {
    const { id: session, node, greeted, heardMs: lastHeardMs } = connection;
    const isCurrent = this.#connections.of(node) === connection; // else the tails go on with the newer one
    if (!this.#connections.remove(connection)) return;
    this.#unstored.ended(connection);
    this.#departures.forget(connection);
    if (!greeted) return;
    this.#heardNodes.left(node, lastHeardMs);
    const isOurs = this.#stallDetector.excuses(connection);
    const message: NodeMessage = { type: 'agent-disconnected', session, lastHeardMs, isOurs };
    this.#ports.tell({ to: { kind: 'node', id: node }, message });
    if (isCurrent) this.tails.left(node);
  }

  #sweep(): void {
    const nowMs = this.#ports.clock.nowMs();
    this.#stallDetector.beat();
    this.#quotas.sweep(nowMs);
    const listeningMs = this.#stallDetector.endedMs();
    for (const connection of this.#connections.values()) {
      if (connection.isPaused) connection.heardMs = nowMs; // it is this admin that does not listen
      const isMute = !connection.greeted && nowMs - connection.openedMs > HELLO_MS_MAX;
      if (isMute || connection.isSilent(nowMs, listeningMs)) {
        connection.terminate();
        this.#gone(connection);
      } else if (connection.takeLateness(nowMs, listeningMs))
        this.#tell(connection, { type: 'report-late', session: connection.id });
    }
    if (!this.#isClosed) this.#ports.clock.after(SWEEP_MS, () => this.#sweep());
  }

  #cutOff(connection: Connection | undefined, code: CloseCode, reason: string): void {
    if (connection === undefined) return;
    this.#close(connection, code, reason);
    this.#gone(connection);
    if (code === CLOSE.revoked) this.#ports.revoked(connection.node);
  }

  /** A peer that floods may not answer the close: it gets a moment to read why. */
  #close(connection: Connection, code: CloseCode, reason: string): void {
    connection.close(code, reason);
    this.#ports.clock.after(CLOSE_GRACE_MS, () => connection.terminate());
  }
}

const STOPPING = 'the admin is shutting down';
