/**
 * The control session of one node: it dials admins for ever, keeps one connection, and tries a second one while the
 * admin of the first says nothing. What a connection carries is its own.
 */
import { CLOSE, DELETED_REASON } from '../../transport/protocol/close-codes.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { RECONNECT_MS_MAX } from '../../transport/protocol/limits.ts';
import type { SshCredential } from '../../transport/protocol/ssh.ts';
import { NODE_DELETED } from '../../transport/protocol/version.ts';
import type { AgentNews, DialHow, SessionPorts } from './ports.ts';
import { AdminChoice } from './admin-choice.ts';
import { Beside } from './beside.ts';
import { isFinal, logEnd, REPLACED, TAKEN_BACK, type Ending } from './endings.ts';
import { Connection, SILENCE, type ConnectionOwner, type ConnectionParts, type Welcome } from './connection.ts';
import type { Refused } from './refusals.ts';
import { createSessionCounters, type SessionCounters } from './session-counters.ts';
import { OneTimer } from './one-timer.ts';
import type { SessionOptions } from './session-options.ts';
import { LookUpAllowance } from './still-open.ts';
import { BESIDE_HANDSHAKE_MS_MAX } from './suspicion.ts';

/**
 * One node's session. It holds one timer at any time (the wait before a dial, or whatever its connections have to do
 * next) and allocates nothing for results, tails and doubts until there are some, so that ten thousand of them fit in
 * one process.
 */
export class Session implements ConnectionOwner {
  readonly #options: SessionOptions;
  readonly #ports: SessionPorts;
  readonly #counters: SessionCounters;
  readonly #parts: ConnectionParts;
  readonly #admins: AdminChoice;
  readonly #timer: OneTimer;
  /** The one that is believed. Null between two of them. */
  #connection: Connection | null = null;
  /** What is tried beside it; null where its admin knows of no other. */
  #beside: Beside | null = null;
  #isOver = false;

  constructor(options: SessionOptions, ports: SessionPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#counters = ports.counters ?? createSessionCounters();
    const aliveMs = ports.aliveMs ?? (() => ports.clock.nowMs());
    this.#parts = { options, ports, counters: this.#counters, aliveMs, allowance: new LookUpAllowance(), owner: this };
    this.#admins = new AdminChoice(options, ports);
    this.#timer = new OneTimer(ports.clock);
  }

  /** Dials now. */
  start(): void {
    if (!this.#isOver && this.#connection === null) this.#dial();
  }

  /** Says goodbye and never dials again. */
  stop(): void {
    const connection = this.#connection;
    this.#end();
    connection?.leave(1000, 'the agent stops');
  }

  /** True between welcome and the loss of the connection. */
  get isLive(): boolean {
    return this.#connection?.live != null;
  }

  /** These are finished in the journal: their results go out now, or as soon as there is a session. */
  finished(executions: readonly ExecutionId[]): void {
    this.#connection?.live?.finished(executions);
  }

  /** Asks the admin about what waits to be asked about: now, or with the next session. */
  askOpen(): void {
    this.#connection?.live?.askOpen();
  }

  /** Sends a health report now, besides the regular ones. */
  reportNow(): void {
    this.#connection?.live?.reportNow();
  }

  /** Asks the admin about a login; the verdict comes to `SessionReach.verdict`. False: no admin can be asked now. */
  verifySsh(attempt: number, username: string, credential: SshCredential): boolean {
    return this.#connection?.live?.verifySsh(attempt, username, credential) ?? false;
  }

  /** Says something of this machine. False: no admin that knows of such things hears it now. */
  say(news: AgentNews): boolean {
    return this.#connection?.live?.say(news) ?? false;
  }

  /** When the admin of a live session was heard last, on the session's clock; null: there is no live one. */
  get heardMs(): number | null {
    return this.isLive ? (this.#connection?.heardMs ?? null) : null;
  }

  /** What admins say of this node, while they refuse it; null: nothing of the kind. */
  get refusal(): Refused | null {
    return this.#admins.refusal;
  }

  /** For `Connection` only. */
  rescheduled(connection: Connection): void {
    if (connection === this.#connection) this.#arm();
  }

  /** For `Connection` only. */
  heard(connection: Connection): void {
    if (connection === this.#connection) this.#beside?.heard();
  }

  /** For `Connection` only. */
  pinged(connection: Connection, nowMs: number): void {
    if (connection === this.#connection) this.#beside?.pinged(nowMs);
  }

  /** For `Connection` only. */
  welcomed(connection: Connection, { settings, cluster_name: cluster }: Welcome): void {
    if (connection !== this.#connection) this.#moveTo(connection);
    this.#admins.welcomed(connection.url, connection.heardMs);
    this.#counters.welcomes += 1;
    this.#ports.log.info({ admin: connection.url, cluster }, 'Connected');
    this.#configured(connection, settings, { cluster, reachedBy: this.#admins.reachedBy });
    connection.begin();
    this.#options.onLive?.(connection.url);
  }

  /** For `Connection` only. */
  configured(connection: Connection, settings: AgentSettings): void {
    this.#configured(connection, settings, { cluster: null, reachedBy: null });
  }

  /** For `Connection` only. */
  ended(connection: Connection, code: number, reason: string, wasLive: boolean): void {
    if (connection !== this.#connection) return this.#secondEnded(connection, code, reason);
    const beside = this.#beside;
    this.#forgetConnection();
    if (wasLive) this.#admins.ended(this.#ports.clock.nowMs());
    if (reason === SILENCE) this.#admins.wentSilent(connection.url);
    // A session that this one began beside it may be the newer one for which an admin hung up.
    const isReplaced = code === CLOSE.replaced && beside?.hasGreeted !== true;
    const second = beside?.take() ?? null;
    const ending = { admin: connection.url, code, reason, wasLive };
    if (second === null) return this.#lost(ending, isReplaced);
    if (code === CLOSE.revoked || isReplaced) {
      second.cut();
      return this.#lost(ending, isReplaced);
    }
    logEnd(ending, this.#ports.log);
    this.#adopt(second);
  }

  #lost(ending: Ending, isReplaced: boolean): void {
    const { log, runner } = this.#ports;
    const { admin, code, reason, wasLive } = ending;
    if (isFinal(ending)) return this.#revoked(ending);
    if (code === CLOSE.revoked) {
      // Whoever comes back is told by a 401 whether it is so. Not at once: two machines that enrol in turn would take
      // the node from each other all the time.
      log.warn({ admin, reason }, TAKEN_BACK);
      runner.hold?.();
      return this.#rest(this.#options.onTaken?.() ?? RECONNECT_MS_MAX);
    }
    if (isReplaced) {
      log.warn({ admin }, REPLACED);
      this.#options.onReplaced?.();
      return this.#rest(RECONNECT_MS_MAX);
    }
    if (code === CLOSE.elsewhere) {
      const waitMs = this.#admins.redirected(reason);
      return waitMs === null ? this.#restBeforeNext(false) : this.#rest(waitMs);
    }
    if (code === 401) {
      // Not the end: another admin of the list, or this one with its database of before, may know it again.
      this.#admins.refused(reason === NODE_DELETED);
      runner.hold?.();
      return this.#restBeforeNext(false);
    }
    logEnd(ending, log);
    const backMs = wasLive ? null : this.#admins.unreached(code);
    return backMs === null ? this.#restBeforeNext(wasLive) : this.#rest(backMs);
  }

  #revoked({ admin, reason }: Pick<Ending, 'admin' | 'reason'>): void {
    const connection = this.#connection;
    this.#end();
    connection?.cut();
    this.#ports.log.error({ admin, reason }, 'The admin revoked this node; the agent stops connecting');
    this.#options.onRevoked?.(reason === DELETED_REASON);
  }

  #secondEnded(connection: Connection, code: number, reason: string): void {
    if (this.#beside?.isSecond(connection) !== true) return;
    if (isFinal({ code, reason })) return this.#revoked({ admin: connection.url, reason });
    this.#beside.refused(code, reason, this.#ports.clock.nowMs());
    this.#arm();
  }

  /** The second connection is welcome where the first one stayed silent: from here on only it is heard. */
  #moveTo(connection: Connection): void {
    const silent = this.#connection;
    this.#beside?.take();
    this.#forgetConnection();
    this.#connection = connection;
    if (silent === null) return;
    this.#admins.ended(this.#ports.clock.nowMs());
    silent.cut();
    this.#ports.log.info({ admin: silent.url }, 'The session ended: the admin is silent, and another one took over');
  }

  /** The first connection has ended while a second one is under way, which goes on as if it had been dialled now. */
  #adopt(second: Connection): void {
    this.#connection = second;
    this.#admins.adopted(second.url);
    this.#arm();
  }

  #dial(): void {
    const url = this.#admins.next();
    this.#connection = new Connection(url, this.#parts, this.#how());
  }

  /** On a metered link answers are slow: there an owner gets the time of every other admin. */
  #how(): DialHow {
    const { stranded, isFollowing } = this.#admins;
    const isQuick = isFollowing && this.#options.registration.rhythm === undefined;
    return { ...(stranded !== null && { stranded }), ...(isQuick && { handshakeMsMax: BESIDE_HANDSHAKE_MS_MAX }) };
  }

  #restBeforeNext(wasLive: boolean): void {
    const { waitMs, isUnknown } = this.#admins.lost(wasLive);
    this.#rest(waitMs);
    if (isUnknown) this.#options.onUnknown?.(this.#admins.refusal === 'deleted');
  }

  #rest(ms: number): void {
    this.#timer.set(ms, () => this.#dial());
  }

  #configured(connection: Connection, settings: AgentSettings, { cluster, reachedBy }: Found): void {
    connection.configured(settings);
    this.#doubtAfter(connection, settings.suspect_after_ms);
    this.#options.onSettings?.(settings, cluster, reachedBy);
    this.#arm();
  }

  /** On a metered link a handshake costs what many pings cost, and answers are slow: there silence is waited for. */
  #doubtAfter(connection: Connection, afterMs: number | undefined): void {
    if (afterMs === undefined || this.#options.registration.rhythm !== undefined) {
      this.#beside?.drop();
      this.#beside = null;
      return;
    }
    if (this.#beside !== null) return this.#beside.waits(afterMs);
    this.#beside = new Beside(connection.url, afterMs, {
      random: this.#ports.random,
      log: this.#ports.log,
      urls: this.#options.adminUrls,
      connect: (url) => new Connection(url, this.#parts, { handshakeMsMax: BESIDE_HANDSHAKE_MS_MAX }),
      doubted: (isSilent) =>
        isSilent ? this.#admins.wentSilent(connection.url) : this.#admins.answers(connection.url),
    });
  }

  #beat(): void {
    const nowMs = this.#ports.clock.nowMs();
    const connection = this.#connection;
    if (connection === null) return;
    connection.beat(nowMs);
    if (connection !== this.#connection) return;
    this.#beside?.look(nowMs);
    this.#arm();
  }

  #arm(): void {
    const nowMs = this.#ports.clock.nowMs();
    const dueMs = Math.min(this.#connection?.nextMs(nowMs) ?? Infinity, this.#beside?.nextMs(nowMs) ?? Infinity);
    if (dueMs === Infinity) this.#timer.clear();
    else this.#timer.set(Math.max(1, dueMs), () => this.#beat());
  }

  #forgetConnection(): void {
    this.#connection = null;
    this.#beside = null;
    this.#timer.clear();
  }

  #end(): void {
    this.#beside?.drop();
    this.#forgetConnection();
    this.#isOver = true;
  }
}

/** What a welcome says beside its settings; nulls at a later change of these. */
interface Found {
  readonly cluster: string | null;
  readonly reachedBy: string | null;
}
