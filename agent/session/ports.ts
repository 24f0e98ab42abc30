/**
 * What the session needs of the rest of the agent. A benchmark gives its own journal and runner and keeps thousands of
 * sessions in one process.
 */
import type { Log } from '../../transport/net/log.ts';
import type { HealthReport } from '../../transport/protocol/agent-description.ts';
import type { AdminFrame, AgentFrameBody, Delivery } from '../../transport/protocol/frames.ts';
import type { NodeFacts } from '../../transport/protocol/facts.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { SshGrant, SshVerdict, UnansweredLogin } from '../../transport/protocol/ssh.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { SessionCounters } from './session-counters.ts';

/** What became of the deliveries of one frame. */
export interface Received {
  /**
   * Durable now, or known from before: to be acknowledged. Those missing were refused (no room on the disk) and come
   * again.
   */
  readonly acknowledged: readonly ExecutionId[];
  /** Those of them that were not known before: to be run. */
  readonly fresh: readonly ExecutionId[];
  /** Those of them that ran before and that the journal had forgotten: their results are there again, to be sent. */
  readonly answered?: readonly ExecutionId[];
}

/** How an execution ended, as the journal keeps it. */
export interface Finished {
  readonly outcome: 'completed' | 'cancelled';
  /** -1 to 255. What an agent before 2026-11-30 took for one may be up to 999. */
  readonly exitCode: number;
  readonly outputTruncated: boolean;
  /** Length of the whole stored output in UTF-8 bytes. */
  readonly outputBytes: number;
  /** Its process in the trace of the delivery; absent when nobody traces it or no process ran. */
  readonly trace?: { readonly traceparent: string; readonly ranMs: number; readonly endedMsAgo: number };
}

/** A piece of a stored output. */
export interface OutputPiece {
  readonly text: string;
  /** Byte offset behind it. */
  readonly next: number;
}

/**
 * The journal as the session sees it. No method throws: what cannot be stored is refused, what is unknown is ignored.
 */
export interface SessionJournal {
  /** Everything not forgotten: received, started or finished; for `hello`. */
  holding(): readonly ExecutionId[];
  /**
   * Has the endings of these there again, to be sent; one of which nothing is known was lost with the journal. Returns
   * those that were not there before. What could not be stored is not held afterwards.
   */
  recall(executions: readonly ExecutionId[]): readonly ExecutionId[];
  /** Finished ones that are not forgotten, in the order in which they finished. */
  finished(): readonly ExecutionId[];
  /** Null unless finished. */
  result(execution: ExecutionId): Finished | null;
  /** Stored output from byte `offset`, at most `bytesMax`, never splitting a code point. Null unless finished. */
  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null;
  /** Drops finished executions; ignores all others. */
  forget(executions: readonly ExecutionId[]): void;
  /** True when it can store; after a failure it tries, and does what it could not. An in-memory one answers true. */
  heal(): boolean;
}

/** Output of one execution as it grows. */
export interface OutputCursor {
  /**
   * The next piece of at most `bytesMax` UTF-8 bytes, or null when there is none now. `offset` is the byte position in
   * the whole replaced-UTF-8 output; a jump from the end of the piece before means that what lies between is not kept.
   */
  read(bytesMax: number): { readonly offset: number; readonly text: string } | null;
  /**
   * True once the execution is over and `read` has come to where it should begin; with a null from the `read` after it,
   * nothing will come any more.
   */
  readonly ended: boolean;
  /** Byte position of what `read` gives next. */
  readonly offset: number;
  close(): void;
}

/** What runs executions. Finished ones are in the journal before `Session.finished` is called with them. */
export interface SessionRunner {
  /** Stores deliveries in the journal, durably before it returns. */
  receive(deliveries: readonly Delivery[]): Received;
  /** These are in the journal and may be started, in this order, as concurrency allows. */
  run(executions: readonly ExecutionId[]): void;
  /** What the next `receive` brings was sent at `bornMs` or later, on the clock of `SessionPorts.aliveMs`. */
  arriving?(bornMs: number): void;
  /** Nothing that waits starts before an admin was asked. */
  hold?(): void;
  /** What waits until an admin was asked, and since when, on the clock of `SessionPorts.aliveMs`. */
  held?(): ReadonlyMap<ExecutionId, number>;
  /**
   * An admin that was asked at `askedMs` says that these may start, for so long from then; `undefined`: it cannot say
   * for how long.
   */
  release?(
    open: readonly { readonly execution: ExecutionId; readonly expiresInMs: number | null | undefined }[],
    askedMs: number,
  ): void;
  /** Ends their processes; the results say `cancelled`. Ignores unknown and finished ones. */
  cancel(executions: readonly ExecutionId[]): void;
  /** Ends their processes without a result and makes the journal forget them. */
  settle(executions: readonly ExecutionId[]): void;
  /**
   * Follows an output from byte `offset`; null for one that cannot be had from there: an unknown execution, or a stored
   * output whose middle was cut out. `wake` is called when `read` may have more.
   */
  tail(execution: ExecutionId, offset: number, wake: () => void): OutputCursor | null;
}

/** Time as the session sees it. `nowMs` never goes back and says nothing of the wall clock. */
export interface SessionClock {
  nowMs(): number;
  /** Calls `act` once after `ms`; the answer cancels it. */
  after(ms: number, act: () => void): () => void;
}

/** One connection to an admin. */
export interface Link {
  /** Queues one text message; `flushed` is called when it left this process. */
  send(text: string, flushed?: () => void): void;
  /** Bytes queued and not yet taken by the system. */
  readonly bufferedBytes: number;
  close(code: number, reason: string): void;
  /** Ends it without a goodbye. `closed` is still called. */
  terminate(): void;
}

/** What a link tells its owner. After `closed` nothing more comes. */
export interface LinkOwner {
  opened(link: Link): void;
  message(link: Link, text: string): void;
  /**
   * `code` is the WebSocket close code; 1006 when the connection broke or never stood, and then `reason` says why, free
   * of secrets; the HTTP status where the admin refused the connection.
   */
  closed(link: Link, code: number, reason: string): void;
}

/**
 * How a connection is opened. It is given up where the admin is silent for `handshakeMsMax` before the upgrade, or
 * that takes some times as long; without that the dialler decides. `stranded`: the admin is told that the owner of the
 * cluster, at this URL, is not reached from here.
 */
export interface DialHow {
  readonly handshakeMsMax?: number;
  readonly stranded?: string;
}

/** Opens a connection to the admin at an http(s) URL. Never throws. */
export type Dial = (adminUrl: string, token: string, owner: LinkOwner, how?: DialHow) => Link;

/** By which ways an admin may be reached, besides its URLs. */
export interface TunnelWays {
  /** Where it is in the VPN. */
  readonly vpnUrl?: string | undefined;
  /** Whether it takes HTTP/2 on the connection itself. */
  readonly isHttp2?: boolean;
}

/** Those parts of the agent that let people reach the machine. No method throws. */
export interface SessionReach {
  /**
   * An admin, which need not be that of the session, wants a tunnel; the token is good once, for a few seconds. It is
   * at the first of these URLs that leads to it, or, where it says so, at `vpnUrl` in the VPN.
   */
  openTunnel(adminUrls: readonly string[], token: string, ways?: TunnelWays): void;
  /** The answer to `Session.verifySsh`. */
  verdict(attempt: number, verdict: SshVerdict): void;
  /** These users and keys are gone: what they opened ends now. */
  endSsh(usernames: readonly string[], keys: readonly string[]): void;
  /**
   * The oldest logins that no admin answered and that are to be told now. Asked after every welcome (`stored` is null),
   * with every ping, and when some of them are stored, which are forgotten.
   */
  unanswered(stored: readonly string[] | null): readonly UnansweredLogin[];
  /** By whom the live SSH sessions were opened; asked after every welcome. */
  grants(): readonly SshGrant[];
}

/** Frames about the VPN, in and out. */
export type AdminVpnFrame = Extract<AdminFrame, { type: `mesh-${string}` | 'netmaker-join' }>;
export type AgentVpnFrameBody = Extract<AgentFrameBody, { type: `mesh-${string}` }>;

/** This machine's membership in the VPN of its cluster. No method throws. */
export interface SessionVpn {
  told(order: AdminVpnFrame): void;
}

/** What an agent says of self-updates. */
export type AgentUpdateFrameBody = Extract<AgentFrameBody, { type: `update-${string}` }>;

/** What an agent says of itself between reports; admins that are too old for it do not hear it. */
export type AgentNews = AgentVpnFrameBody | AgentUpdateFrameBody | Extract<AgentFrameBody, { type: 'facts-changed' }>;

/** Self-updates of this machine. No method throws. */
export interface SessionUpdates {
  /** The updater is to be told, once for each request. What came of it is said when it is known. */
  asked(request: string): void;
  /** What came of updates, and no admin has stored yet; asked after every welcome, and from time to time. */
  outcomes(): readonly UpdateOutcome[];
  /** An admin has stored what came of it. */
  outcomeStored(request: string): void;
}

/** Everything that a session needs. */
export interface SessionPorts {
  readonly journal: SessionJournal;
  readonly runner: SessionRunner;
  /** Absent where nobody can be let in: the simulated agents of a benchmark. */
  readonly reach?: SessionReach;
  /** Absent where there can be no VPN: the simulated agents of a benchmark. */
  readonly vpn?: SessionVpn;
  /** Absent where nothing can be updated: the simulated agents of a benchmark. */
  readonly updates?: SessionUpdates;
  readonly report: () => HealthReport;
  /** What the machine is. Absent where there is none: the simulated agents of a benchmark. */
  readonly facts?: () => NodeFacts;
  /** Counted on here, for metrics. */
  readonly counters?: SessionCounters;
  readonly dial: Dial;
  readonly clock: SessionClock;
  /** ms that go on while the machine is suspended; the clock's own where that cannot be told. */
  readonly aliveMs?: () => number;
  /** Uniform in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly log: Log;
}
