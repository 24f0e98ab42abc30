/** One connection as frames: it numbers those that go out, and refuses a gap in those that come in. */
import { decodeAdminFrame, encodeFrame } from '../../transport/protocol/codec.ts';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import { SOCKET_BUFFERED_BYTES_MAX } from '../../transport/protocol/limits.ts';
import type { Link } from './ports.ts';
import type { SessionCounters } from './session-counters.ts';

/** Lives as long as its link is open. */
export class FrameChannel {
  readonly #link: Link;
  readonly #counters: Pick<SessionCounters, 'reported'>;
  readonly #flushed: () => void;
  #sentSeq = 0;
  #heardSeq = 0;

  /** `flushed`: a socket that was filling takes more again. */
  constructor(link: Link, counters: Pick<SessionCounters, 'reported'>, flushed: () => void) {
    this.#link = link;
    this.#counters = counters;
    this.#flushed = flushed;
  }

  /** The next frame; or why this is none. */
  read(text: string): { readonly frame: AdminFrame } | { readonly problem: string } {
    const decoded = decodeAdminFrame(text);
    if (!decoded.ok) return { problem: decoded.problem };
    if (decoded.frame.seq !== this.#heardSeq + 1)
      return { problem: `seq ${decoded.frame.seq} after ${this.#heardSeq}` };
    this.#heardSeq += 1;
    return { frame: decoded.frame };
  }

  send(body: AgentFrameBody): void {
    this.#sentSeq += 1;
    if (body.type === 'result') this.#counters.reported += body.results.length;
    const text = encodeFrame(body, this.#sentSeq);
    // Whoever finds the socket full stops, and is called again when what fills it has left.
    const isFilling = this.#link.bufferedBytes + text.length > SOCKET_BUFFERED_BYTES_MAX / 2;
    this.#link.send(text, isFilling ? this.#flushed : undefined);
  }

  /** Whether the socket takes more now. */
  get isRoomy(): boolean {
    return this.#link.bufferedBytes <= SOCKET_BUFFERED_BYTES_MAX;
  }
}
