/** All live control sessions of this admin: frames in become messages to nodes, frames out go to their sockets. */
import type { WebSocket } from 'ws';
import type { Addressed } from '../../actors/messages.ts';
import type { NodeMessage } from '../../actors/node/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import type { SessionSight } from '../../actors/sights.ts';
import { CLOSE } from '../protocol/close-codes.ts';
import type { CloseCode } from '../protocol/close-codes.ts';
import type { AdminFrameBody, AgentFrame, AgentSettings } from '../protocol/frames.ts';
import type { ClusterId, NodeId, SessionId } from '../protocol/ids.ts';
import { HELLO_MS_MAX, SESSION_SILENCE_MS_MAX } from '../protocol/limits.ts';
import {
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_GREET,
  PROTOCOL_VERSION_MESH,
  PROTOCOL_VERSION_MIN,
  PROTOCOL_VERSION_REACH,
  PROTOCOL_VERSION_RECALLS,
  PROTOCOL_VERSION_TRACES,
} from '../protocol/version.ts';
import { Connection } from './connection.ts';
import { createFrameCounters, INVALID, type FrameCounters } from './frame-counters.ts';
import { CLOSE_GRACE_MS, REPORT_LATE_MS, SESSIONS_PER_SECOND_MAX, SWEEP_MS, TOO_MANY_TOLD_MS } from './limits.ts';
import { createLiveTails } from './live-tails.ts';
import { createNodeQuotas, type NodeQuota } from './node-quotas.ts';
import { createStandstill } from './standstill.ts';
import { createUnstored } from './unstored.ts';
import type { SessionLink } from '../../supervisors/ports.ts';
import type { Tails } from '../../api/feeds/ports.ts';

/** What sessions reach. */
export interface SessionPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** For `refresh-settings`. */
  readonly settings: AgentSettings;
  /** A node's credential was revoked: what else is open to it must end too (E5). */
  revoked(node: NodeId): void;
  /** False when the node's mailbox is full. */
  tell(addressed: Addressed): boolean;
}

/** What happened so far, for metrics. */
export interface SessionCounters {
  opened: number;
  cut: number;
  readonly frames: FrameCounters;
}

/** The live sessions, for actors (SessionLink), feeds (`tails`) and metrics. */
export interface Sessions extends SessionLink {
  readonly tails: Tails;
  readonly counters: Readonly<SessionCounters>;
  /**
   * Takes over an authenticated socket. Answers 0, or for how many ms its node may begin no further session: then it
   * was closed.
   */
  accept(socket: WebSocket, node: NodeId, cluster: ClusterId): number;
  count(): number;
  /** Whether the node has a live session here. */
  has(node: NodeId): boolean;
  /** At most `limit` sessions as they are seen from outside, those first that were silent for longest. */
  sights(limit: number): readonly SessionSight[];
  /**
   * Sends to whatever live session the node has. False: it has none here, was not welcomed yet, or its agent does not
   * know such frames.
   */
  sendToNode(node: NodeId, frame: AdminFrameBody): boolean;
  /** Nodes heard since the last call, each with the time, for `last_seen_at`. */
  heard(): readonly { readonly node: NodeId; readonly atMs: number }[];
  /** Says goodbye to all agents: they come back to another admin, or to this one when it is back. */
  close(): void;
}

/** No sessions at first. */
export function createSessions(ports: SessionPorts): Sessions {
  const { clock, log } = ports;
  const connections = new Map<SessionId, Connection>();
  const ofNode = new Map<NodeId, Connection>();
  const counters: SessionCounters = { opened: 0, cut: 0, frames: createFrameCounters() };
  const unstored = createUnstored();
  const quotas = createNodeQuotas();
  const tails = createLiveTails(sendToNode);
  /** Nodes whose session ended since `heard` was last called, and when each was last heard. One entry a node. */
  const left = new Map<NodeId, number>();
  let last = 0;
  let heardSinceMs = 0;
  let closed = false;
  const standstill = createStandstill(clock);
  clock.after(SWEEP_MS, sweep);

  function sendToNode(node: NodeId, frame: AdminFrameBody): boolean {
    const connection = ofNode.get(node);
    // an agent takes anything before its welcome for a broken admin
    return connection?.welcomed === true && transmit(connection, frame);
  }

  function accept(socket: WebSocket, node: NodeId, cluster: ClusterId): number {
    const nowMs = clock.nowMs();
    const quota = quotas.of(node, nowMs);
    if (!quota.takeSession(nowMs)) {
      tooMany(socket, node, quota, nowMs);
      return Math.ceil(1_000 / SESSIONS_PER_SECOND_MAX);
    }
    last += 1;
    const connection = new Connection(last as SessionId, node, cluster, socket, quota, nowMs);
    connections.set(connection.id, connection);
    counters.opened += 1;
    (socket as Tagged)[CONNECTION] = connection;
    socket.on('message', onMessage);
    socket.on('close', onClose);
    socket.on('error', onError);
    if (closed) connection.close(CLOSE.shuttingDown, 'the admin is shutting down');
    return 0;
  }

  /** Nothing of it is read. Told now and then: a line for each would be a flood of its own. */
  function tooMany(socket: WebSocket, node: NodeId, quota: NodeQuota, nowMs: number): void {
    counters.cut += 1;
    if (quota.isToBeTold(nowMs, TOO_MANY_TOLD_MS))
      log.warn({ node, problem: TOO_MANY }, 'a session broke the contract and was cut');
    socket.on('error', () => {}); // whatever it sends
    socket.close(CLOSE.policy, TOO_MANY);
    clock.after(CLOSE_GRACE_MS, () => socket.terminate());
  }

  function onMessage(this: WebSocket, data: Buffer, isBinary: boolean): void {
    const connection = (this as Tagged)[CONNECTION];
    if (connection === undefined || connections.get(connection.id) !== connection) return;
    if (isBinary) return broke(connection, 'a binary frame');
    const received = connection.receive(data.toString('utf8'), clock.nowMs());
    if (!received.ok) return broke(connection, received.problem);
    if (received.frame === null) return;
    counters.frames.in[received.frame.type] += 1;
    const waitMs = connection.spend(data.length, clock.nowMs());
    if (waitMs > 0) holdBack(connection, waitMs);
    try {
      heardFrame(connection, received.frame, data.length);
    } catch (error) {
      // a fault of ours, which costs this session and no other
      log.error({ node: connection.node, error }, 'a frame could not be handled');
      cut(connection, 'a frame that could not be handled');
    }
  }

  function broke(connection: Connection, problem: string): void {
    counters.frames.in[INVALID] += 1;
    cut(connection, problem);
  }

  /** It sends more than its share: the rest waits in its own socket, and the others do not (L1). */
  function holdBack(connection: Connection, waitMs: number): void {
    connection.pause('rate');
    clock.after(waitMs, () => connection.resume('rate'));
  }

  function onClose(this: WebSocket): void {
    const connection = (this as Tagged)[CONNECTION];
    if (connection !== undefined) gone(connection);
  }

  function onError(this: WebSocket, error: Error): void {
    // `close` follows. What `ws` refuses by itself (too large, not UTF-8) ends here with its own close code.
    const connection = (this as Tagged)[CONNECTION];
    log.info({ node: connection?.node, error: error.message }, 'a session failed');
    if (connection !== undefined) counters.cut += 1;
  }

  function heardFrame(connection: Connection, frame: AgentFrame, bytes: number): void {
    const session = connection.id;
    switch (frame.type) {
      case 'hello':
        return greeted(connection, frame);
      case 'ping':
        return void transmit(connection, PONG);
      case 'report':
        connection.reportedMs = connection.heardMs;
        connection.lateTold = false;
        return tell(connection, { type: 'agent-reported', session, report: frame.report });
      case 'acknowledge':
        return tell(connection, { type: 'executions-acknowledged', session, executions: frame.executions });
      case 'ask-open':
        return tell(connection, { type: 'executions-asked', session, ask: frame.ask, executions: frame.executions });
      case 'result':
        for (const result of frame.results) unstored.came(connection, result.execution, result.output.length);
        return tell(connection, { type: 'results-arrived', session, results: frame.results });
      case 'output-part':
        unstored.came(connection, frame.execution, bytes);
        return tell(connection, {
          type: 'output-part-arrived',
          session,
          execution: frame.execution,
          part: frame.part,
          text: frame.text,
        });
      case 'verify-ssh':
        return tell(connection, {
          type: 'ssh-attempted',
          session,
          attempt: frame.attempt,
          username: frame.username,
          credential: frame.credential,
        });
      case 'ssh-grants':
        return tell(connection, { type: 'ssh-grants-reported', session, grants: frame.grants });
      case 'ssh-unanswered':
        return tell(connection, { type: 'ssh-unanswered-reported', session, logins: frame.logins });
      case 'tail-output':
        return tails.arrived(connection.node, frame);
      case 'mesh-advertise':
        return tell(connection, {
          type: 'mesh-advertised',
          session,
          advertisement: frame.advertisement,
          from: connection.remoteAddress,
        });
      case 'mesh-try':
        return tell(connection, { type: 'direct-wanted', session, publicKey: frame.public_key });
      case 'mesh-report':
        return tell(connection, { type: 'mesh-reported', session, report: frame.report });
      case 'refresh-settings':
        return void transmit(connection, { type: 'settings', settings: ports.settings });
      default:
        throw new Error(`no such frame: ${JSON.stringify((frame satisfies never as { type: string }).type)}`);
    }
  }

  function greeted(connection: Connection, hello: Extract<AgentFrame, { type: 'hello' }>): void {
    if (hello.protocol < PROTOCOL_VERSION_MIN)
      return cut(
        connection,
        `protocol ${hello.protocol} is too old: this admin speaks ${PROTOCOL_VERSION_MIN} to ${PROTOCOL_VERSION}`,
      );
    if (hello.node !== connection.node) return cut(connection, 'the token belongs to another node');
    connection.greeted = true;
    connection.protocol = hello.protocol;
    ofNode.set(connection.node, connection);
    tell(connection, {
      type: 'agent-connected',
      session: connection.id,
      hello: {
        registration: hello.registration,
        report: hello.report,
        holding: hello.holding,
        recalls: hello.protocol >= PROTOCOL_VERSION_RECALLS,
      },
    });
  }

  function tell(connection: Connection, message: NodeMessage): void {
    if (!ports.tell({ to: { kind: 'node', id: connection.node }, message }))
      cut(connection, 'too many frames wait to be handled');
  }

  function transmit(connection: Connection, frame: AdminFrameBody): boolean {
    if (connection.protocol < PROTOCOL_VERSION_REACH && REACH.has(frame.type)) return false;
    if (connection.protocol < PROTOCOL_VERSION_MESH && MESH.has(frame.type)) return false;
    counters.frames.out[frame.type] += 1;
    if (frame.type === 'welcome') connection.welcomed = true;
    if (frame.type === 'part-stored') unstored.stored(connection, frame.execution);
    else if (frame.type === 'confirm' || frame.type === 'settle')
      for (const execution of frame.executions) unstored.stored(connection, execution);
    if (!connection.send(asKnownTo(connection.protocol, frame))) {
      cut(connection, 'the agent does not read');
      return false;
    }
    if (frame.type === 'welcome') tails.welcomed(connection.node);
    return true;
  }

  function cut(connection: Connection, problem: string): void {
    counters.cut += 1;
    log.warn({ node: connection.node, problem }, 'a session broke the contract and was cut');
    connection.close(CLOSE.policy, problem);
    gone(connection);
    // A peer that floods may not answer the close: it gets a moment to read why.
    clock.after(CLOSE_GRACE_MS, () => connection.terminate());
  }

  function gone(connection: Connection): void {
    if (!connections.delete(connection.id)) return;
    unstored.ended(connection);
    if (ofNode.get(connection.node) === connection) ofNode.delete(connection.node);
    if (connection.greeted) left.set(connection.node, connection.heardMs);
    if (connection.greeted)
      ports.tell({
        to: { kind: 'node', id: connection.node },
        message: {
          type: 'agent-disconnected',
          session: connection.id,
          lastHeardMs: connection.heardMs,
          isOurs: connection.heardMs < standstill.endedMs(),
        },
      });
  }

  function sweep(): void {
    const nowMs = clock.nowMs();
    standstill.beat();
    quotas.sweep(nowMs);
    const listeningMs = standstill.endedMs();
    for (const connection of connections.values()) {
      if (connection.isPaused) connection.heardMs = nowMs; // it is this admin that does not listen
      const silentMs = nowMs - Math.max(connection.heardMs, listeningMs);
      if (silentMs > SESSION_SILENCE_MS_MAX || (!connection.greeted && nowMs - connection.openedMs > HELLO_MS_MAX)) {
        connection.terminate();
        gone(connection);
      } else if (!connection.lateTold && nowMs - Math.max(connection.reportedMs, listeningMs) > REPORT_LATE_MS) {
        connection.lateTold = true;
        tell(connection, { type: 'report-late', session: connection.id });
      }
    }
    if (!closed) clock.after(SWEEP_MS, sweep);
  }

  function hangUp(connection: Connection, code: CloseCode, reason: string): void {
    connection.close(code, reason);
    gone(connection);
    if (code === CLOSE.revoked) ports.revoked(connection.node);
    clock.after(CLOSE_GRACE_MS, () => connection.terminate());
  }

  /** What this agent said to the node that was is said again to the one that is: its journal keeps it. */
  function renew(session: SessionId, cluster: ClusterId): void {
    const connection = connections.get(session);
    if (connection === undefined) return;
    if (connection.protocol < PROTOCOL_VERSION_GREET || !connection.greeted || !transmit(connection, { type: 'greet' }))
      return hangUp(connection, CLOSE.elsewhere, '');
    gone(connection);
    last += 1;
    const next = connection.renewed(last as SessionId, cluster, clock.nowMs());
    connections.set(next.id, next);
    (next.socket as Tagged)[CONNECTION] = next;
    next.resume('rate');
  }

  return {
    tails,
    counters,
    accept,
    sendToNode,
    count: () => connections.size,
    has: (node) => ofNode.get(node)?.welcomed === true,
    sights: (limit) => [...connections.values()].sort((one, other) => one.heardMs - other.heardMs).slice(0, limit),
    send(session, frame) {
      const connection = connections.get(session);
      if (connection !== undefined) transmit(connection, frame);
    },
    hangUp(session, code, reason) {
      const connection = connections.get(session);
      if (connection !== undefined) hangUp(connection, code, reason);
    },
    renew,
    hangUpNode(node, code, reason) {
      const connection = ofNode.get(node);
      if (connection !== undefined) hangUp(connection, code, reason);
    },
    heard() {
      const since = heardSinceMs;
      heardSinceMs = clock.nowMs();
      const heard = new Map(left);
      left.clear();
      for (const connection of ofNode.values())
        if (connection.heardMs >= since) heard.set(connection.node, connection.heardMs);
      return [...heard].map(([node, atMs]) => ({ node, atMs }));
    },
    close() {
      closed = true;
      for (const connection of connections.values()) {
        connection.close(CLOSE.shuttingDown, 'the admin is shutting down');
        clock.after(CLOSE_GRACE_MS, () => connection.terminate());
      }
    },
  };
}

/** A socket knows its connection, so that ten thousand sockets share three listeners. */
const CONNECTION = Symbol('connection');
type Tagged = WebSocket & { [CONNECTION]?: Connection };

/** The frame as an agent of this version knows it. */
function asKnownTo(protocol: number, frame: AdminFrameBody): AdminFrameBody {
  if (frame.type === 'welcome') return { ...frame, protocol: Math.min(frame.protocol, protocol) };
  if (frame.type !== 'deliver' || protocol >= PROTOCOL_VERSION_TRACES) return frame;
  return { ...frame, deliveries: frame.deliveries.map(({ traceparent: _traceparent, ...delivery }) => delivery) };
}

const TOO_MANY = 'it begins sessions faster than any agent';

const PONG: AdminFrameBody = { type: 'pong' };

/** Frames that an agent of an older version would take for a broken peer. */
const MESH: ReadonlySet<AdminFrameBody['type']> = new Set([
  'mesh-network',
  'mesh-changed',
  'mesh-refused',
  'mesh-observed',
  'mesh-try',
  'netmaker-join',
]);
const REACH: ReadonlySet<AdminFrameBody['type']> = new Set(['open-tunnel', 'ssh-verdict', 'end-ssh']);
