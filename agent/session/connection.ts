/** One connection to an admin, from its dial to its end: hello and welcome, numbered frames, and signs of life. */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION, PROTOCOL_VERSION_MIN } from '../../transport/protocol/version.ts';
import { FrameChannel } from './frame-channel.ts';
import { Heartbeat, rhythmOf } from './heartbeat.ts';
import { LiveSession } from './live-session.ts';
import type { DialHow, Link, LinkOwner, SessionPorts } from './ports.ts';
import type { SessionCounters } from './session-counters.ts';
import type { LookUpAllowance } from './still-open.ts';
import { helloOf, type SessionOptions } from './session-options.ts';

/** With this reason ends what was silent for too long. */
export const SILENCE = 'silence';

/** What a connection tells its session. After `ended` nothing more comes. */
export interface ConnectionOwner {
  /** When it has something to do next has changed. */
  rescheduled(connection: Connection): void;
  /** The admin said something that is a frame. */
  heard(connection: Connection): void;
  /** It answers the hello; `begin` is to be called. */
  welcomed(connection: Connection, welcome: Welcome): void;
  configured(connection: Connection, settings: AgentSettings): void;
  /** A ping went out, or waits in a full socket. */
  pinged(connection: Connection, nowMs: number): void;
  /** As `LinkOwner.closed`. */
  ended(connection: Connection, code: number, reason: string, wasLive: boolean): void;
}

/** The frame that makes a connection live. */
export type Welcome = AdminFrame & { type: 'welcome' };

/** What all connections of a session share. */
export interface ConnectionParts {
  readonly options: SessionOptions;
  readonly ports: SessionPorts;
  readonly counters: SessionCounters;
  /** On a clock that runs while the machine is suspended. */
  readonly aliveMs: () => number;
  readonly allowance: LookUpAllowance;
  readonly owner: ConnectionOwner;
}

/** Dials as it is made. */
export class Connection implements LinkOwner {
  /** Of the admin. */
  readonly url: string;
  readonly #parts: ConnectionParts;
  readonly #heartbeat = new Heartbeat();
  #link: Link | null;
  /** While the link is open. */
  #channel: FrameChannel | null = null;
  #hasGreeted = false;
  #helloMs = 0;
  #protocol = 0;
  #live: LiveSession | null = null;

  constructor(url: string, parts: ConnectionParts, how?: DialHow) {
    this.url = url;
    this.#parts = parts;
    parts.counters.dials += 1;
    this.#link = parts.ports.dial(url, parts.options.token, this, how);
  }

  /** What it carries; null before the welcome and after the end. */
  get live(): LiveSession | null {
    return this.#live;
  }

  /** The hello went out, here or before the end. */
  get hasGreeted(): boolean {
    return this.#hasGreeted;
  }

  /** When the admin was heard last, on the session's clock, in ms. */
  get heardMs(): number {
    return this.#heartbeat.heardMs;
  }

  /** For `Link` only. */
  opened(link: Link): void {
    if (link !== this.#link) return;
    const { ports, counters } = this.#parts;
    this.#channel = new FrameChannel(link, counters, () => {
      if (link === this.#link) this.#live?.pump();
    });
    this.#heartbeat.opened(ports.clock.nowMs(), ports.random());
    this.#greet();
  }

  /** For `Link` only. */
  message(link: Link, text: string): void {
    if (link !== this.#link || this.#channel === null) return;
    this.#heartbeat.heard(this.#parts.ports.clock.nowMs());
    const read = this.#channel.read(text);
    if ('problem' in read) return this.#drop(CLOSE.policy, read.problem);
    this.#parts.owner.heard(this);
    this.#handle(read.frame);
  }

  /** For `Link` only. */
  closed(link: Link, code: number, reason: string): void {
    if (link !== this.#link) return;
    const wasLive = this.#live !== null;
    this.#forgetLink();
    this.#parts.owner.ended(this, code, reason, wasLive);
  }

  /** After a welcome: what the admin is to know goes out. */
  begin(): void {
    this.#live?.begin();
  }

  /** How often it shows that it lives, and for how long settings are good. */
  configured(settings: AgentSettings): void {
    const { options, ports } = this.#parts;
    const nowMs = ports.clock.nowMs();
    this.#heartbeat.configured(settings.refresh_ms, nowMs);
    this.#heartbeat.keeps(rhythmOf(options.registration, this.#protocol, settings), nowMs, ports.random());
  }

  /** Pings where a ping is due, and ends after too long a silence. */
  beat(nowMs: number): void {
    const link = this.#link;
    if (link === null) return;
    if (this.#heartbeat.isSilent(nowMs)) {
      link.terminate();
      return this.closed(link, 1006, SILENCE);
    }
    if (this.#live === null || !this.#heartbeat.takeBeat(nowMs)) return;
    if (this.#channel?.isRoomy === true) this.#pulse(this.#live, nowMs);
    this.#parts.owner.pinged(this, nowMs);
  }

  /** In how many ms there is something to do: infinite before it is open. */
  nextMs(nowMs: number): number {
    return this.#channel === null ? Infinity : this.#heartbeat.nextMs(nowMs, this.#live !== null);
  }

  /** Says goodbye. Nothing of it is heard any more. */
  leave(code: number, reason: string): void {
    const link = this.#link;
    this.#forgetLink();
    link?.close(code, reason);
  }

  /** Ends without a goodbye. Nothing of it is heard any more. */
  cut(): void {
    const link = this.#link;
    this.#forgetLink();
    link?.terminate();
  }

  /**
   * Also in the middle of a connection, when the node moved: what was sent and not answered is sent again after the
   * welcome.
   */
  #greet(): void {
    const { options, ports, aliveMs, owner } = this.#parts;
    this.#hasGreeted = true;
    this.#helloMs = aliveMs();
    this.#live?.end();
    this.#live = null;
    this.#send(helloOf(options, ports));
    owner.rescheduled(this);
  }

  #handle(frame: AdminFrame): void {
    if (this.#live === null) {
      if (frame.type === 'welcome') return this.#welcomed(frame);
      return this.#drop(CLOSE.policy, `${frame.type} before welcome`);
    }
    if (frame.type === 'welcome') return this.#drop(CLOSE.policy, 'a second welcome');
    if (frame.type === 'settings') return this.#parts.owner.configured(this, frame.settings);
    return frame.type === 'greet' ? this.#greet() : this.#live.hear(frame);
  }

  #welcomed(frame: Welcome): void {
    if (frame.protocol < PROTOCOL_VERSION_MIN || frame.protocol > PROTOCOL_VERSION) {
      this.#parts.ports.log.error(
        { admin: this.url, theirs: frame.protocol, ours: PROTOCOL_VERSION },
        'The admin speaks another protocol version: update the agent or the admin',
      );
      return this.#drop(CLOSE.policy, 'protocol version');
    }
    this.#protocol = frame.protocol;
    this.#live = this.#newLive();
    this.#parts.owner.welcomed(this, frame);
  }

  #newLive(): LiveSession {
    const { options, ports, counters, aliveMs, allowance } = this.#parts;
    return new LiveSession(ports, {
      url: this.url,
      protocol: this.#protocol,
      helloMs: this.#helloMs,
      aliveMs,
      allowance,
      send: (body) => this.#send(body),
      isRoomy: () => this.#channel?.isRoomy ?? true,
      confirmed: (results) => {
        counters.confirmed += results;
        options.onConfirmed?.();
      },
    });
  }

  #pulse(live: LiveSession, nowMs: number): void {
    if (!live.pulse(this.#heartbeat.takeReport(nowMs))) return this.#drop(1000, 'ready for what was refused');
    if (this.#heartbeat.takeRefresh(nowMs)) this.#send({ type: 'refresh-settings' });
  }

  #send(body: AgentFrameBody): void {
    this.#channel?.send(body);
  }

  /** Hangs up on a broken peer; its session goes on as after any loss. */
  #drop(code: number, reason: string): void {
    const link = this.#link;
    if (link === null) return;
    link.close(code, reason);
    this.closed(link, 1006, reason);
  }

  #forgetLink(): void {
    this.#link = null;
    this.#channel = null;
    this.#live?.end();
    this.#live = null;
  }
}
