/**
 * Streams to the small HTTP servers of agents. One stays open after an answer, where the agent keeps its end open too,
 * so that the next request there needs none of its own: to open and to close it is a good part of what a scrape costs.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Dialled } from '../net/streams/dialled.ts';
import { KEPT_STREAM_MS_MAX, KEPT_STREAMS_MAX } from './limits.ts';

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
}

/** What a request fails with when no stream came up. */
export class NotDialled extends Error {
  readonly dialled: Extract<Dialled, { ok: false }>;

  constructor(dialled: Extract<Dialled, { ok: false }>) {
    super(dialled.message);
    this.dialled = dialled;
  }
}

/**
 * One stream a name is kept, for as long as its agent says and no longer than KEPT_STREAM_MS_MAX, and only while nothing
 * comes on it. None is open at first.
 */
export class KeptStreams<Place> extends Agent {
  readonly #kept = new Set<Duplex>();
  readonly #places = new WeakMap<Duplex, Place>();
  readonly #keptMax: number;

  constructor(keptMax: number = KEPT_STREAMS_MAX) {
    super({ keepAlive: true, maxFreeSockets: 1, timeout: KEPT_STREAM_MS_MAX });
    this.#keptMax = keptMax;
  }

  /** Streams that nobody uses now. */
  get kept(): number {
    return this.#kept.size;
  }

  /** What was known of that server when the stream was opened that is kept of it; null: none is. */
  placeOf(name: string): Place | null {
    const stream = this.freeSockets[name]?.[0];
    return stream === undefined || stream.destroyed ? null : (this.#places.get(stream) ?? null);
  }

  override getName(options?: ClientRequestArgs): string {
    return (options as StreamRequest<Place>).wanted.name;
  }

  override createConnection(
    options: ClientRequestArgs,
    created: (error: Error | null, stream?: Duplex) => void,
  ): undefined {
    const { wanted } = options as StreamRequest<Place>;
    void wanted.dial().then((dialled) => {
      if (!dialled.ok) return created(new NotDialled(dialled));
      const { stream } = dialled;
      this.#places.set(stream, wanted.place);
      this.#watch(stream);
      return created(null, stream instanceof Socket ? stream : Object.assign(stream, NO_SOCKET));
    });
  }

  /** By itself, as a closure beside `created` would hold the first request and its answer for as long as the stream. */
  #watch(stream: Duplex): void {
    stream.once('close', () => this.#kept.delete(stream));
  }

  /** Beyond the limit the one that was just used goes: were it another, nodes that are asked in turns would all lose theirs. */
  override keepSocketAlive(stream: Duplex): boolean {
    if (this.#kept.size >= this.#keptMax) return false;
    // Typed as void; what it answers says whether the agent's own time is long enough.
    const isKept = (super.keepSocketAlive as (stream: Duplex) => boolean)(stream);
    if (!isKept) return false;
    this.#kept.add(stream);
    stream.on('data', ended).once('end', ended).resume();
    return true;
  }

  override reuseSocket(stream: Duplex, request: ClientRequest): void {
    this.#kept.delete(stream);
    stream.off('data', ended).off('end', ended);
    super.reuseSocket(stream, request);
  }
}

/** Its agent closed its side of a stream that is kept, or said what nobody asked for. */
function ended(this: Duplex): void {
  this.destroy();
}

/** What Node's agent does to sockets alone. */
const NO_SOCKET = { ref() {}, unref() {}, setKeepAlive() {} };
