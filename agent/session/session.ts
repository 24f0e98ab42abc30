/**
 * The control session of one node: it dials admins for ever, says hello, and carries frames between the admin, the
 * journal and the runner.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import type { AdminFrame, AgentFrameBody, AgentSettings } from '../../transport/protocol/frames.ts';
import type { NodeFacts } from '../../transport/protocol/facts.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { RECONNECT_MS_MAX } from '../../transport/protocol/limits.ts';
import type { SshCredential } from '../../transport/protocol/ssh.ts';
import {
  NODE_DELETED,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_MIN,
  PROTOCOL_VERSION_RHYTHM,
} from '../../transport/protocol/version.ts';
import type { Link, LinkOwner, AgentVpnFrameBody, SessionPorts } from './ports.ts';
import { AdminChoice } from './admin-choice.ts';
import { FrameChannel } from './frame-channel.ts';
import { Heartbeat } from './heartbeat.ts';
import { LiveSession } from './live-session.ts';
import type { Refused } from './refusals.ts';
import { createSessionCounters, type SessionCounters } from './session-counters.ts';
import { OneTimer } from './one-timer.ts';
import { helloOf, type Phase, type SessionOptions } from './session-options.ts';

/**
 * One node's session. It holds one timer at any time (the wait before a dial, or the next ping or end of silence) and
 * allocates nothing for results and tails until there are some, so that ten thousand of them fit in one process.
 */
export class Session implements LinkOwner {
  readonly #options: SessionOptions;
  readonly #ports: SessionPorts;
  readonly #counters: SessionCounters;
  readonly #aliveMs: () => number;
  readonly #admins: AdminChoice;
  readonly #heartbeat = new Heartbeat();
  /** The wait before a dial, or the next ping or end of silence. */
  readonly #timer: OneTimer;
  #phase: Phase = 'resting';
  #link: Link | null = null;
  /** While the link is open. */
  #channel: FrameChannel | null = null;
  #helloMs = 0;
  /** While the phase is `live`. */
  #live: LiveSession | null = null;

  constructor(options: SessionOptions, ports: SessionPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#counters = ports.counters ?? createSessionCounters();
    this.#aliveMs = ports.aliveMs ?? (() => ports.clock.nowMs());
    this.#admins = new AdminChoice(options, ports);
    this.#timer = new OneTimer(ports.clock);
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
    this.#live?.finished(executions);
  }

  /** Asks the admin about what waits to be asked about: now, or with the next session. */
  askOpen(): void {
    this.#live?.askOpen();
  }

  /** Sends a health report now, besides the regular ones. */
  reportNow(): void {
    this.#live?.reportNow();
  }

  /** Asks the admin about a login; the verdict comes to `SessionReach.verdict`. False: no admin can be asked now. */
  verifySsh(attempt: number, username: string, credential: SshCredential): boolean {
    return this.#live?.verifySsh(attempt, username, credential) ?? false;
  }

  /** Says what the machine is now. False: no admin that listens hears it now; the next hello says it. */
  sayFacts(facts: NodeFacts): boolean {
    return this.#live?.sayFacts(facts) ?? false;
  }

  /** Says something of the VPN. False: no admin that knows of one hears it now. */
  sayOfVpn(message: AgentVpnFrameBody): boolean {
    return this.#live?.sayOfVpn(message) ?? false;
  }

  /** For `Link` only. */
  opened(link: Link): void {
    if (link !== this.#link) return;
    this.#channel = new FrameChannel(link, this.#counters, () => {
      if (link === this.#link) this.#live?.pump();
    });
    this.#heartbeat.opened(this.#ports.clock.nowMs(), this.#ports.random());
    this.#greet();
  }

  /**
   * Also in the middle of a connection, when the node moved: what was sent and not answered is sent again after the
   * welcome.
   */
  #greet(): void {
    this.#phase = 'greeting';
    this.#helloMs = this.#aliveMs();
    this.#live?.end();
    this.#live = null;
    this.#send(helloOf(this.#options, this.#ports));
    this.#armBeat();
  }

  /** For `Link` only. */
  message(link: Link, text: string): void {
    if (link !== this.#link || this.#channel === null) return;
    this.#heartbeat.heard(this.#ports.clock.nowMs());
    const read = this.#channel.read(text);
    if ('problem' in read) return this.#drop(CLOSE.policy, read.problem);
    this.#handle(read.frame);
  }

  /** For `Link` only. */
  closed(link: Link, code: number, reason: string): void {
    if (link !== this.#link) return;
    const { log } = this.#ports;
    const wasLive = this.#phase === 'live';
    const admin = this.#admins.url;
    this.#forgetLink();
    if (wasLive) this.#admins.ended(this.#ports.clock.nowMs());
    switch (code) {
      case CLOSE.revoked:
        this.#end();
        log.error({ admin }, 'The admin revoked this node; the agent stops connecting');
        this.#options.onRevoked?.(reason);
        return;
      case CLOSE.replaced:
        log.warn(
          { admin },
          'A newer session of this node took over: does another agent run with a copy of this data directory?',
        );
        this.#options.onReplaced?.();
        this.#rest(RECONNECT_MS_MAX);
        return;
      case CLOSE.elsewhere: {
        const waitMs = this.#admins.redirected(reason);
        return waitMs === null ? this.#restBeforeNext(false) : this.#rest(waitMs);
      }
      case 401:
        // Not the end: another admin of the list, or this one with its database of before, may know it again. A
        // revocation says 4003.
        this.#admins.refused(reason === NODE_DELETED);
        this.#ports.runner.hold?.();
        return this.#restBeforeNext(false);
      default:
        log[wasLive ? 'info' : 'warn'](
          { admin, code, reason },
          wasLive ? 'The session ended' : 'The admin cannot be reached',
        );
        this.#restBeforeNext(wasLive);
    }
  }

  #dial(): void {
    this.#phase = 'dialling';
    this.#counters.dials += 1;
    this.#link = this.#ports.dial(this.#admins.next(), this.#options.token, this);
  }

  #restBeforeNext(wasLive: boolean): void {
    const { waitMs, isUnknown } = this.#admins.lost(wasLive);
    this.#rest(waitMs);
    if (isUnknown) this.#options.onUnknown?.(this.#admins.refusal === 'deleted');
  }

  /** What admins say of this node, while they refuse it; null: nothing of the kind. */
  get refusal(): Refused | null {
    return this.#admins.refusal;
  }

  #rest(ms: number): void {
    this.#phase = 'resting';
    this.#timer.set(ms, () => this.#dial());
  }

  #handle(frame: AdminFrame): void {
    if (this.#live === null) {
      if (frame.type === 'welcome') return this.#welcomed(frame);
      return this.#drop(CLOSE.policy, `${frame.type} before welcome`);
    }
    if (frame.type === 'welcome') return this.#drop(CLOSE.policy, 'a second welcome');
    if (frame.type === 'settings') return this.#configured(frame.settings, null);
    return frame.type === 'greet' ? this.#greet() : this.#live.hear(frame);
  }

  #welcomed(frame: AdminFrame & { type: 'welcome' }): void {
    if (frame.protocol < PROTOCOL_VERSION_MIN || frame.protocol > PROTOCOL_VERSION) {
      this.#ports.log.error(
        { admin: this.#admins.url, theirs: frame.protocol, ours: PROTOCOL_VERSION },
        'The admin speaks another protocol version: update the agent or the admin',
      );
      return this.#drop(CLOSE.policy, 'protocol version');
    }
    this.#phase = 'live';
    this.#admins.welcomed(this.#heartbeat.heardMs);
    this.#counters.welcomes += 1;
    const live = this.#newLive(frame.protocol);
    this.#live = live;
    this.#ports.log.info({ admin: this.#admins.url, cluster: frame.cluster_name }, 'Connected');
    this.#configured(frame.settings, frame.cluster_name);
    const { rhythm } = this.#options.registration;
    if (rhythm !== undefined && frame.protocol >= PROTOCOL_VERSION_RHYTHM)
      this.#heartbeat.keeps(rhythm, this.#ports.clock.nowMs(), this.#ports.random());
    this.#armBeat();
    live.begin();
    this.#options.onLive?.(this.#admins.url);
  }

  #newLive(protocol: number): LiveSession {
    return new LiveSession(this.#ports, {
      url: this.#admins.url,
      protocol,
      helloMs: this.#helloMs,
      aliveMs: this.#aliveMs,
      send: (body) => this.#send(body),
      isRoomy: () => this.#channel?.isRoomy ?? true,
      confirmed: (results) => {
        this.#counters.confirmed += results;
        this.#options.onConfirmed?.();
      },
    });
  }

  #configured(settings: AgentSettings, clusterName: string | null): void {
    this.#heartbeat.configured(settings.refresh_ms, this.#ports.clock.nowMs());
    this.#options.onSettings?.(settings, clusterName);
  }

  #beat(): void {
    const nowMs = this.#ports.clock.nowMs();
    const link = this.#link;
    if (link === null) return;
    if (this.#heartbeat.isSilent(nowMs)) {
      link.terminate();
      return this.closed(link, 1006, 'silence');
    }
    if (this.#live !== null && this.#heartbeat.takeBeat(nowMs) && this.#channel?.isRoomy === true)
      this.#pulse(this.#live, nowMs);
    if (this.#link === link) this.#armBeat();
  }

  #pulse(live: LiveSession, nowMs: number): void {
    if (!live.pulse(this.#heartbeat.takeReport(nowMs))) return this.#drop(1000, 'ready for what was refused');
    if (this.#heartbeat.takeRefresh(nowMs)) this.#send({ type: 'refresh-settings' });
  }

  #armBeat(): void {
    this.#timer.set(this.#heartbeat.nextMs(this.#ports.clock.nowMs(), this.#live !== null), () => this.#beat());
  }

  #send(body: AgentFrameBody): void {
    this.#channel?.send(body);
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
    this.#channel = null;
    this.#phase = 'resting';
    this.#live?.end();
    this.#live = null;
    this.#timer.clear();
  }

  #end(): void {
    this.#forgetLink();
    this.#phase = 'over';
  }
}
