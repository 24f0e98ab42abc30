/**
 * Streams to the small HTTP servers of agents. One stays open after an answer, where the agent keeps its end open too,
 * so that the next request there needs none of its own: to open and to close it is a good part of what a scrape costs.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Dialled } from '../net/streams/dialled.ts';
import { KEPT_STREAM_AGE_MS_MAX, KEPT_STREAM_MS_MAX, KEPT_STREAMS_MAX } from './limits.ts';

/** Where a request goes. */
export interface StreamWanted<Place> {
  /** One server of one node: whoever gives the same name may have the same stream. */
  readonly name: string;
  /** What is known of that server. */
  readonly place: Place;
  /** Opens one, where none is kept. Never rejects. */
  readonly dial: () => Promise<Dialled>;
}

/** A request on such a stream. */
export interface StreamRequest<Place> extends ClientRequestArgs {
  readonly agent: KeptStreams<Place>;
  readonly wanted: StreamWanted<Place>;
  /** Looked at by Node's agent, though its types leave it out. */
  readonly servername?: string;
}

/** What a request fails with when no stream came up. */
export class NotDialled extends Error {
  readonly dialled: Extract<Dialled, { ok: false }>;

  constructor(dialled: Extract<Dialled, { ok: false }>) {
    super(dialled.message);
    this.dialled = dialled;
  }
}

/** What is known of an open stream. */
interface OpenStream<Place> {
  readonly place: Place;
  /** Monotonic time in ms. */
  readonly openedMs: number;
}

/**
 * One stream a name is kept, for as long as its agent says and no longer than KEPT_STREAM_MS_MAX, and only while
 * nothing comes on it. After KEPT_STREAM_AGE_MS_MAX it is not kept any more. None is open at first.
 */
export class KeptStreams<Place> extends Agent {
  readonly #kept = new Set<Duplex>();
  readonly #open = new WeakMap<Duplex, OpenStream<Place>>();
  readonly #keptMax: number;
  readonly #nowMs: () => number;

  constructor({
    keptMax = KEPT_STREAMS_MAX,
    nowMs,
  }: {
    readonly keptMax?: number | undefined;
    readonly nowMs: () => number;
  }) {
    super({ keepAlive: true, maxFreeSockets: 1, timeout: KEPT_STREAM_MS_MAX });
    this.#keptMax = keptMax;
    this.#nowMs = nowMs;
  }

  /** Streams that nobody uses now. */
  get kept(): number {
    return this.#kept.size;
  }

  /** What was known of that server when the stream was opened that is kept of it; null: none is. */
  placeOf(name: string): Place | null {
    const stream = this.freeSockets[name]?.[0];
    return stream === undefined || stream.destroyed ? null : (this.#open.get(stream)?.place ?? null);
  }

  override getName(options?: ClientRequestArgs): string {
    return (options as StreamRequest<Place>).wanted.name;
  }

  override createConnection(
    options: ClientRequestArgs,
    created: (error: Error | null, stream?: Duplex) => void,
  ): undefined {
    const { wanted } = options as StreamRequest<Place>;
    void wanted.dial().then(
      (dialled) => {
        if (!dialled.ok) return this.#notCreated(wanted.name, () => created(new NotDialled(dialled)));
        const { stream } = dialled;
        this.#opened(stream, wanted.place);
        return created(null, stream instanceof Socket ? stream : Object.assign(stream, NO_SOCKET));
      },
      (error: Error) => this.#notCreated(wanted.name, () => created(error)),
    );
  }

  /** By itself, as a closure beside `created` would hold the first request and its answer for as long as the stream. */
  #opened(stream: Duplex, place: Place): void {
    this.#open.set(stream, { place, openedMs: this.#nowMs() });
    stream.once('close', () => this.#kept.delete(stream));
  }

  /** Node's agent takes the name of a server down before there is a socket, and removes it with the last one. */
  #notCreated(name: string, tell: () => void): void {
    if (this.sockets[name]?.length === 0) delete (this.sockets as Record<string, Socket[] | undefined>)[name];
    tell();
  }

  /**
   * Beyond the limit the one that was just used goes: were it another, nodes that are asked in turns would all lose
   * theirs.
   */
  override keepSocketAlive(stream: Duplex): boolean {
    const { openedMs } = this.#open.get(stream) ?? { openedMs: -Infinity };
    const isOld = this.#nowMs() - openedMs > KEPT_STREAM_AGE_MS_MAX;
    if (isOld || stream.readableEnded || this.#kept.size >= this.#keptMax) return false;
    // Typed as void; what it answers says whether the agent's own time is long enough.
    const isKept = (super.keepSocketAlive as (stream: Duplex) => boolean)(stream);
    if (!isKept) return false;
    this.#kept.add(stream);
    // that of Node's agent looks through all names
    stream.removeAllListeners('timeout').once('timeout', ended);
    stream.on('data', ended).once('end', ended).resume();
    return true;
  }

  override reuseSocket(stream: Duplex, request: ClientRequest): void {
    this.#kept.delete(stream);
    stream.off('data', ended).off('end', ended).off('timeout', ended);
    super.reuseSocket(stream, request);
  }
}

/** Its agent closed its side of a stream that is kept, or said what nobody asked for; or nobody asked for long. */
function ended(this: Duplex): void {
  this.destroy();
}

/** What Node's agent does to sockets alone. */
const NO_SOCKET = { ref() {}, unref() {}, setKeepAlive() {} };
