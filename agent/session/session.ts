/**
 * The control session of one node: it dials admins for ever, says hello, and carries frames between the admin, the
 * journal and the runner.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { decodeAdminFrame, encodeFrame } from '../../transport/protocol/codec.ts';
import type { AdminFrame, AgentFrameBody, AgentSettings } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import {
  PING_INTERVAL_MS,
  RECONNECT_MS_MAX,
  REPORT_INTERVAL_MS,
  SESSION_SILENCE_MS_MAX,
  SOCKET_BUFFERED_BYTES_MAX,
} from '../../transport/protocol/limits.ts';
import type { SshCredential } from '../../transport/protocol/ssh.ts';
import {
  NODE_DELETED,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_GREET,
  PROTOCOL_VERSION_MESH,
  PROTOCOL_VERSION_MIN,
  PROTOCOL_VERSION_REACH,
  PROTOCOL_VERSION_TRACES,
} from '../../transport/protocol/version.ts';
import { arrived, recalled, type Arrivals } from './arrivals.ts';
import { Asking } from './asking.ts';
import { reconnectDelayMs } from './backoff.ts';
import type { Link, LinkOwner, MeshWord, SessionPorts } from '../ports.ts';
import { Refusals, type Refused } from './refusals.ts';
import { ResultSender } from './result-sender.ts';
import { createSessionCounters, type SessionCounters } from './session-counters.ts';
import {
  helloOf,
  isFollowed,
  REDIRECTS_MAX,
  STEADY_MS_MIN,
  type Phase,
  type SessionOptions,
} from './session-options.ts';
import { TailSender } from './tail-sender.ts';

/**
 * One node's session. It holds one timer at any time (the wait before a dial, or the next ping or end of silence) and
 * allocates nothing for results and tails until there are some, so that ten thousand of them fit in one process.
 */
export class Session implements LinkOwner {
  readonly #options: SessionOptions;
  readonly #ports: SessionPorts;
  readonly #counters: SessionCounters;
  #phase: Phase = 'resting';
  #link: Link | null = null;
  #cancelTimer: (() => void) | null = null;
  #attempt = 0;
  #round = 0;
  #redirects = 0;
  #redirect: string | null = null;
  #url = '';
  #sentSeq = 0;
  #heardSeq = 0;
  #heardMs = 0;
  #beatMs = 0;
  #liveMs = 0;
  #refreshMs = 600_000;
  readonly #refusals = new Refusals();
  #helloMs = 0;
  #asking: Asking | null = null;
  #hasRefused = false;
  #protocol = 0;
  #refreshAtMs = 0;
  #results: ResultSender | null = null;
  #tails: TailSender | null = null;

  constructor(options: SessionOptions, ports: SessionPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#counters = ports.counters ?? createSessionCounters();
  }

  /** Dials now. */
  start(): void {
    if (this.#phase === 'resting' && this.#link === null) this.#dial();
  }

  /** Says goodbye and never dials again. */
  stop(): void {
    if (this.#phase === 'over') return;
    const link = this.#link;
    this.#end();
    link?.close(1000, 'the agent stops');
  }

  /** True between welcome and the loss of the connection. */
  get isLive(): boolean {
    return this.#phase === 'live';
  }

  /** These are finished in the journal: their results go out now, or as soon as there is a session. */
  finished(executions: readonly ExecutionId[]): void {
    if (this.#phase !== 'live') return;
    this.#results ??= this.#newResults();
    this.#results.add(executions);
  }

  /** Asks the admin about what waits to be asked about: now, or with the next session. */
  askOpen(): void {
    if (this.#phase === 'live') this.#asking?.ask();
  }

  /** Sends a health report now, besides the regular ones. */
  reportNow(): void {
    if (this.#phase === 'live') this.#send({ type: 'report', report: this.#ports.report() });
  }

  /** Asks the admin about a login; the verdict comes to `SessionReach.verdict`. False: no admin can be asked now. */
  verifySsh(attempt: number, username: string, credential: SshCredential): boolean {
    if (this.#phase !== 'live' || this.#protocol < PROTOCOL_VERSION_REACH || !this.#isRoomy()) return false;
    this.#send({ type: 'verify-ssh', attempt, username, credential });
    return true;
  }

  /** Says something of the mesh. False: no admin that knows of one hears it now. */
  sayOfMesh(word: MeshWord): boolean {
    if (this.#phase !== 'live' || this.#protocol < PROTOCOL_VERSION_MESH || !this.#isRoomy()) return false;
    this.#send(word);
    return true;
  }

  /** For `Link` only. */
  opened(link: Link): void {
    if (link !== this.#link) return;
    this.#sentSeq = 0;
    this.#heardSeq = 0;
    this.#heardMs = this.#ports.clock.nowMs();
    // A random phase keeps a fleet that came back together from pinging together.
    this.#beatMs = this.#heardMs + Math.ceil(PING_INTERVAL_MS * (0.5 + this.#ports.random() / 2));
    this.#greet();
  }

  /**
   * Also in the middle of a connection, when the node moved: what was sent and not answered is sent again after the
   * welcome.
   */
  #greet(): void {
    this.#phase = 'greeting';
    this.#helloMs = this.#aliveMs();
    this.#hasRefused = false;
    this.#results = null;
    this.#tails?.closeAll();
    this.#tails = null;
    this.#send(helloOf(this.#options, this.#ports));
    this.#armBeat();
  }

  /** For `Link` only. */
  message(link: Link, text: string): void {
    if (link !== this.#link) return;
    this.#heardMs = this.#ports.clock.nowMs();
    const decoded = decodeAdminFrame(text);
    if (!decoded.ok) return this.#drop(CLOSE.policy, decoded.problem);
    if (decoded.frame.seq !== this.#heardSeq + 1)
      return this.#drop(CLOSE.policy, `seq ${decoded.frame.seq} after ${this.#heardSeq}`);
    this.#heardSeq += 1;
    this.#handle(decoded.frame);
  }

  /** For `Link` only. */
  closed(link: Link, code: number, reason: string): void {
    if (link !== this.#link) return;
    const { log, clock } = this.#ports;
    const wasLive = this.#phase === 'live';
    const admin = this.#url;
    this.#forgetLink();
    if (wasLive && clock.nowMs() - this.#liveMs >= STEADY_MS_MIN) {
      this.#round = 0;
      this.#redirects = 0;
    }
    switch (code) {
      case CLOSE.revoked:
        this.#end();
        log.error('The admin revoked this node; the agent stops connecting', { admin });
        this.#options.onRevoked?.(reason);
        return;
      case CLOSE.replaced:
        log.warn('A newer session of this node took over: does another agent run with a copy of this data directory?', {
          admin,
        });
        this.#rest(RECONNECT_MS_MAX);
        return;
      case CLOSE.elsewhere:
        this.#redirected(reason);
        return;
      case 401:
        // Not the end: another admin of the list, or this one with its database of before, may know it again. A
        // revocation says 4003.
        this.#refusals.refused(reason === NODE_DELETED);
        this.#ports.runner.hold?.();
        return this.#restBeforeNext(false);
      default:
        log[wasLive ? 'info' : 'warn'](wasLive ? 'The session ended' : 'The admin cannot be reached', {
          admin,
          code,
          reason,
        });
        this.#restBeforeNext(wasLive);
    }
  }

  #dial(): void {
    const urls = this.#options.adminUrls();
    this.#url = this.#redirect ?? urls[this.#attempt % urls.length] ?? '';
    this.#redirect = null;
    this.#phase = 'dialling';
    this.#counters.dials += 1;
    this.#link = this.#ports.dial(this.#url, this.#options.token, this);
  }

  /**
   * From the first admin after a live session, else on through the list; only a whole round without success makes the
   * waits longer.
   */
  #restBeforeNext(wasLive: boolean): void {
    const admins = this.#options.adminUrls().length;
    this.#attempt = wasLive ? 0 : (this.#attempt + 1) % admins;
    if (this.#attempt !== 0) return this.#rest(reconnectDelayMs(0, this.#ports.random()));
    const refused = this.#refusals.round(admins, this.#ports.random());
    if (refused?.sentence != null)
      this.#ports.log[refused.isLasting ? 'error' : 'warn'](refused.sentence, { admin: this.#url });
    this.#rest(refused?.waitMs ?? reconnectDelayMs(this.#round++, this.#ports.random()));
    if (refused?.isLasting === true) this.#options.onUnknown?.(this.#refusals.state === 'deleted');
  }

  /** What admins say of this node, while they refuse it; null: nothing of the kind. */
  get refusal(): Refused | null {
    return this.#refusals.state;
  }

  #rest(ms: number): void {
    this.#phase = 'resting';
    this.#arm(ms, () => this.#dial());
  }

  #redirected(reason: string): void {
    const isSafe = URL.canParse(reason) && isFollowed(this.#url, reason);
    this.#redirects += 1;
    if (!isSafe || this.#redirects > REDIRECTS_MAX) {
      this.#ports.log.info('The admin does not own this cluster, and names none to go to', { admin: this.#url });
      return this.#restBeforeNext(false);
    }
    this.#ports.log.info('Another admin owns this cluster', { admin: reason });
    this.#redirect = reason;
    this.#rest(Math.round(this.#ports.random() * 200));
  }

  #handle(frame: AdminFrame): void {
    if (this.#phase !== 'live') {
      if (frame.type === 'welcome') return this.#welcomed(frame);
      return this.#drop(CLOSE.policy, `${frame.type} before welcome`);
    }
    switch (frame.type) {
      case 'welcome':
        return this.#drop(CLOSE.policy, 'a second welcome');
      case 'deliver':
        this.#asking?.arriving();
        return arrived(this.#arrivals(), frame.deliveries);
      case 'recall':
        return recalled(this.#arrivals(), frame.executions);
      case 'confirm':
        return this.#confirmed(frame.executions);
      case 'part-stored':
        return this.#results?.partStored(frame.execution, frame.part);
      case 'settle':
        this.#results?.drop(frame.executions);
        return this.#ports.runner.settle(frame.executions);
      case 'cancel':
        return this.#ports.runner.cancel(frame.executions);
      case 'tail':
        this.#tails ??= new TailSender(
          this.#ports.runner,
          (body) => this.#send(body),
          () => this.#isRoomy(),
        );
        return this.#tails.open(frame.execution, frame.offset);
      case 'untail':
        return this.#tails?.close(frame.execution);
      case 'open-tunnel':
        return this.#tunnelWanted(frame);
      case 'ssh-verdict':
        return this.#ports.reach?.verdict(frame.attempt, frame.verdict);
      case 'end-ssh':
        return this.#ports.reach?.endSsh(frame.ssh_username_ids, frame.ssh_public_key_ids);
      case 'mesh-network':
      case 'mesh-changed':
      case 'mesh-refused':
      case 'mesh-observed':
      case 'mesh-try':
      case 'netmaker-join':
        return this.#ports.mesh?.told(frame);
      case 'settings':
        return this.#configured(frame.settings, null);
      case 'ssh-unanswered-stored':
        return this.#tellUnanswered(frame.ids);
      case 'greet':
        return this.#greet();
      case 'pong':
        return this.#asking?.ponged();
      case 'still-open':
        return this.#asking?.answered(frame);
      default:
        throw new Error(`no such frame: ${JSON.stringify(frame satisfies never).slice(0, 100)}`);
    }
  }

  /** Like a redirect, another admin is not followed from https to http. */
  #tunnelWanted({
    admin_url: adminUrl = this.#url,
    token,
    mesh_url: meshUrl,
  }: AdminFrame & { type: 'open-tunnel' }): void {
    if (isFollowed(this.#url, adminUrl)) this.#ports.reach?.openTunnel(adminUrl, token, meshUrl);
  }

  #welcomed(frame: AdminFrame & { type: 'welcome' }): void {
    if (frame.protocol < PROTOCOL_VERSION_MIN || frame.protocol > PROTOCOL_VERSION) {
      this.#ports.log.error('The admin speaks another protocol version: update the agent or the admin', {
        admin: this.#url,
        theirs: frame.protocol,
        ours: PROTOCOL_VERSION,
      });
      return this.#drop(CLOSE.policy, 'protocol version');
    }
    this.#phase = 'live';
    this.#refusals.welcomed();
    this.#counters.welcomes += 1;
    this.#protocol = frame.protocol;
    this.#asking = new Asking(this.#ports.runner, {
      aliveMs: () => this.#aliveMs(),
      send: (body) => this.#send(body),
      protocol: frame.protocol,
      helloMs: this.#helloMs,
    });
    this.#liveMs = this.#heardMs;
    this.#ports.log.info('Connected', { admin: this.#url, cluster: frame.cluster_name });
    this.#configured(frame.settings, frame.cluster_name);
    this.#armBeat();
    this.askOpen();
    const finished = this.#ports.journal.finished();
    if (finished.length > 0) this.finished(finished);
    const grants = this.#ports.reach?.grants() ?? [];
    if (grants.length > 0 && this.#protocol >= PROTOCOL_VERSION_REACH)
      this.#send({ type: 'ssh-grants', grants: [...grants] });
    this.#tellUnanswered(null);
    this.#options.onLive?.(this.#url);
  }

  #aliveMs(): number {
    return this.#ports.aliveMs?.() ?? this.#ports.clock.nowMs();
  }

  #tellUnanswered(stored: readonly string[] | null): void {
    const logins = this.#protocol < PROTOCOL_VERSION_GREET ? [] : (this.#ports.reach?.unanswered(stored) ?? []);
    if (logins.length > 0) this.#send({ type: 'ssh-unanswered', logins: [...logins] });
  }

  #configured(settings: AgentSettings, clusterName: string | null): void {
    this.#refreshMs = settings.refresh_ms;
    this.#refreshAtMs = this.#ports.clock.nowMs() + this.#refreshMs;
    this.#options.onSettings?.(settings, clusterName);
  }

  #arrivals(): Arrivals {
    const { journal, runner } = this.#ports;
    const refused = () => {
      this.#hasRefused = true;
      this.reportNow();
    };
    return {
      journal,
      runner,
      refused,
      send: (body) => this.#send(body),
      finished: (executions) => this.finished(executions),
    };
  }

  #confirmed(executions: readonly ExecutionId[]): void {
    // Only what was sent on this connection: a confirm answers a result, nothing else ends the journal's duty to keep
    // it.
    const stored = this.#results?.confirmed(executions) ?? [];
    if (stored.length === 0) return;
    this.#counters.confirmed += stored.length;
    this.#ports.journal.forget(stored);
    this.#options.onConfirmed?.();
  }

  #beat(): void {
    const nowMs = this.#ports.clock.nowMs();
    const link = this.#link;
    if (link === null) return;
    if (nowMs - this.#heardMs >= SESSION_SILENCE_MS_MAX) {
      link.terminate();
      return this.closed(link, 1006, 'silence');
    }
    if (this.#phase === 'live' && nowMs >= this.#beatMs) {
      this.#beatMs = nowMs + Math.min(PING_INTERVAL_MS, REPORT_INTERVAL_MS);
      if (this.#isRoomy()) this.#pulse(nowMs);
    }
    if (this.#link === link) this.#armBeat();
  }

  #pulse(nowMs: number): void {
    // What was refused comes again with the next hello, and there is room for it now.
    if (this.#hasRefused && this.#ports.journal.heal()) return this.#drop(1000, 'ready for what was refused');
    this.#send({ type: 'ping' });
    this.#asking?.pinging();
    this.#send({ type: 'report', report: this.#ports.report() });
    if (nowMs + PING_INTERVAL_MS <= this.#refreshAtMs) return; // the next beat would be too late
    this.#refreshAtMs = nowMs + this.#refreshMs;
    this.#send({ type: 'refresh-settings' });
  }

  #armBeat(): void {
    const nowMs = this.#ports.clock.nowMs();
    const silenceMs = this.#heardMs + SESSION_SILENCE_MS_MAX;
    const dueMs = this.#phase === 'live' ? Math.min(this.#beatMs, silenceMs) : silenceMs;
    this.#arm(Math.max(1, dueMs - nowMs), () => this.#beat());
  }

  #send(body: AgentFrameBody): void {
    const link = this.#link;
    if (link === null) return;
    this.#sentSeq += 1;
    if (body.type === 'result') this.#counters.reported += body.results.length;
    const text = encodeFrame(body, this.#sentSeq);
    // Whoever finds the socket full stops, and is called again when what fills it has left.
    const isFilling = link.bufferedBytes + text.length > SOCKET_BUFFERED_BYTES_MAX / 2;
    link.send(text, isFilling ? () => this.#flushed(link) : undefined);
  }

  #flushed(link: Link): void {
    if (link !== this.#link) return;
    this.#results?.pump();
    this.#tails?.pump();
  }

  #isRoomy(): boolean {
    return (this.#link?.bufferedBytes ?? 0) <= SOCKET_BUFFERED_BYTES_MAX;
  }

  /** Hangs up on a broken peer and goes on as after any loss. */
  #drop(code: number, reason: string): void {
    const link = this.#link;
    if (link === null) return;
    link.close(code, reason);
    this.closed(link, 1006, reason);
  }

  #forgetLink(): void {
    this.#link = null;
    this.#phase = 'resting';
    this.#results = null;
    this.#tails?.closeAll();
    this.#tails = null;
    this.#disarm();
  }

  #end(): void {
    this.#forgetLink();
    this.#phase = 'over';
  }

  #newResults(): ResultSender {
    return new ResultSender(
      this.#ports.journal,
      (body) => this.#send(body),
      () => this.#isRoomy(),
      this.#protocol >= PROTOCOL_VERSION_TRACES,
    );
  }

  #arm(ms: number, act: () => void): void {
    this.#disarm();
    this.#cancelTimer = this.#ports.clock.after(ms, act);
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}
