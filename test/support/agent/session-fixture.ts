/** A session with everything around it under the test's control: no socket, no clock, no disk. */
import type { Dial, Link, LinkOwner, OutputCursor, SessionPorts, SessionRunner } from '../../../agent/session/ports.ts';
import { createSessionCounters } from '../../../agent/session/session-counters.ts';
import { Session } from '../../../agent/session/session.ts';
import type { SessionOptions } from '../../../agent/session/session-options.ts';
import { decodeAgentFrame, encodeFrame } from '../../../transport/protocol/codec.ts';
import type { AgentSettings } from '../../../transport/protocol/agent-settings.ts';
import type { AdminFrameBody, AgentFrame, Delivery } from '../../../transport/protocol/frames.ts';
import { ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { createFakeClock } from '../fake-clock.ts';
import { MemoryJournal } from './memory-journal.ts';

/** Settings as an admin sends them. */
export const SETTINGS: AgentSettings = { admin_urls: ['http://a.test'], derp_map_urls: [], refresh_ms: 600_000 };

/** The node whose session it is. */
export const NODE = NodeId.parse('6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01');

/** A well-formed execution id that ends in `n`. */
export function executionId(n: number): ExecutionId {
  return ExecutionId.parse(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);
}

/** A delivery of `true` that never expires, unless `more` says otherwise. */
export function delivery(n: number, more: Partial<Delivery> = {}): Delivery {
  return { execution: executionId(n), command_text: 'true', timeout_ms: null, expires_in_ms: null, ...more };
}

/** One dialled connection. */
export class FakeLink implements Link {
  readonly frames: AgentFrame[] = [];
  readonly url: string;
  readonly token: string;
  /** As it was dialled with. */
  readonly handshakeMsMax: number | undefined;
  readonly stranded: string | undefined;
  bufferedBytes = 0;
  closeCode: number | null = null;
  isTerminated = false;
  readonly #owner: LinkOwner;
  readonly #flushes: (() => void)[] = [];
  #seq = 0;

  constructor(url: string, token: string, owner: LinkOwner, handshakeMsMax?: number, stranded?: string) {
    this.url = url;
    this.token = token;
    this.#owner = owner;
    this.handshakeMsMax = handshakeMsMax;
    this.stranded = stranded;
  }

  send(text: string, flushed?: () => void): void {
    const decoded = decodeAgentFrame(text);
    if (!decoded.ok) throw new Error(decoded.problem);
    this.frames.push(decoded.frame);
    if (flushed !== undefined) this.#flushes.push(flushed);
  }

  close(code: number): void {
    this.closeCode = code;
  }

  terminate(): void {
    this.isTerminated = true;
  }

  /** What was sent has left. */
  flush(): void {
    this.bufferedBytes = 0;
    for (const flushed of this.#flushes.splice(0)) flushed();
  }

  open(): void {
    this.#owner.opened(this);
  }

  /** Opens and welcomes. */
  welcome(settings: AgentSettings = SETTINGS): void {
    this.open();
    this.hear({ type: 'welcome', protocol: 1, cluster_name: 'c', settings });
  }

  hear(body: AdminFrameBody): void {
    this.hearText(encodeFrame(body, this.#seq + 1));
  }

  hearText(text: string): void {
    this.#seq += 1;
    this.#owner.message(this, text);
  }

  hangUp(code: number, reason = ''): void {
    this.#owner.closed(this, code, reason);
  }

  types(): string[] {
    return this.frames.map((frame) => frame.type);
  }
}

/** Notes what it is asked. */
export class NotingRunner implements SessionRunner {
  readonly asked: [string, readonly ExecutionId[]][] = [];
  readonly cursors = new Map<ExecutionId, TextCursor>();
  readonly #journal: MemoryJournal;

  constructor(journal = new MemoryJournal()) {
    this.#journal = journal;
  }

  receive(deliveries: readonly Delivery[]) {
    return this.#journal.receive(deliveries);
  }

  run(executions: readonly ExecutionId[]): void {
    this.asked.push(['run', executions]);
  }

  cancel(executions: readonly ExecutionId[]): void {
    this.asked.push(['cancel', executions]);
  }

  settle(executions: readonly ExecutionId[]): void {
    this.asked.push(['settle', executions]);
  }

  tail(execution: ExecutionId, offset: number, wake: () => void): OutputCursor | null {
    const cursor = this.cursors.get(execution) ?? null;
    if (cursor !== null) {
      cursor.wake = wake;
      cursor.offset = offset;
    }
    return cursor;
  }
}

/** An output that grows when told to. ASCII only. */
export class TextCursor implements OutputCursor {
  text = '';
  offset = 0;
  ended = false;
  isClosed = false;
  wake: () => void = () => {};

  read(bytesMax: number) {
    const { offset } = this;
    const text = this.text.slice(offset, offset + bytesMax);
    this.offset += text.length;
    return text === '' ? null : { offset, text };
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Everything together; `random` is 0 unless said otherwise. */
export function sessionFixture(
  more: Partial<SessionOptions> = {},
  random: () => number = () => 0,
  ports: Partial<SessionPorts> = {},
) {
  const clock = createFakeClock(1_000);
  const journal = new MemoryJournal();
  const runner = new NotingRunner(journal);
  const links: FakeLink[] = [];
  const counters = createSessionCounters();
  const lines: string[] = [];
  const note = (_fields: object, message: string) => {
    lines.push(message);
  };
  const dial: Dial = (url, token, owner, how) => {
    const link = new FakeLink(url, token, owner, how?.handshakeMsMax, how?.stranded);
    links.push(link);
    return link;
  };
  const session = new Session(
    {
      node: NODE,
      token: 'token',
      adminUrls: () => ['http://a.test'],
      listedCount: () => more.adminUrls?.().length ?? 1,
      registration: {
        version: '1',
        id_type: 'persistent',
        self_update_enabled: false,
        ports: {
          http_port: 1,
          ssh_port: 2,
          host_metrics_port: 3,
          wireguard_metrics_port: 4,
          http_proxy_port: 5,
          socks5_proxy_port: 6,
        },
      },
      ...more,
    },
    {
      journal,
      runner,
      counters,
      report: () => ({ services: [] }),
      dial,
      clock,
      random,
      log: { debug: note, info: note, warn: note, error: note },
      ...ports,
    },
  );
  session.start();
  const link = (index = links.length - 1): FakeLink => {
    const found = links[index];
    if (found === undefined) throw new Error(`no link ${index}`);
    return found;
  };
  return { clock, journal, runner, counters, links, lines, session, link };
}
