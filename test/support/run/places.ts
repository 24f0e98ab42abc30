/**
 * How many test files run at a time: four, as those that compute want a processor each and most others wait for
 * programs; and more while processors have nothing to do, as many files wait for time limits of the product.
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { cpus } from 'node:os';

/** Variable with the path of the socket at which test files wait for their place. */
export const PLACES_VARIABLE = 'EDGE_TEST_PLACES';

/** Files that run whatever the machine does, and at most. */
export const [PLACES_MIN, PLACES_MAX] = [4, 8];

/**
 * There is one place more when processors had nothing to do for this part of the time between two looks, and one less
 * below the other. With 0.4, and room given away as files ended, a run of 47 minutes used 1.4 of two processors.
 */
const [IDLE_SHARE_MORE, IDLE_SHARE_LESS] = [0.25, 0.08];

/** Time between two looks, in ms: about what a file takes until its programs compute. */
const LOOK_MS = 3_000;

/** Time that all processors of this machine spent since it started, in ms: in all, and with nothing to do. */
interface ProcessorTime {
  readonly all: number;
  readonly idle: number;
}

/** Places for the files of a run; each connection waits for one, is told by a byte, and keeps it until it ends. */
export class Places {
  readonly #server: Server;
  readonly #waiting = new Set<Socket>();
  readonly #running = new Set<Socket>();
  readonly #looks: NodeJS.Timeout;
  readonly #time: () => ProcessorTime;
  #seen: ProcessorTime;
  #places = PLACES_MIN;

  private constructor(time: () => ProcessorTime, lookMs: number) {
    this.#time = time;
    this.#seen = time();
    this.#server = createServer((socket) => {
      this.#asked(socket);
    });
    this.#looks = setInterval(() => {
      this.#look();
    }, lookMs);
  }

  /** Opens them at a path of a socket. `time` and `lookMs` are for tests. */
  static async open(path: string, time: () => ProcessorTime = processorTime, lookMs = LOOK_MS): Promise<Places> {
    const places = new Places(time, lookMs);
    places.#server.listen(path);
    await once(places.#server, 'listening');
    return places;
  }

  /** Files that have a place now. */
  get running(): number {
    return this.#running.size;
  }

  close(): void {
    clearInterval(this.#looks);
    this.#server.close();
    for (const socket of [...this.#waiting, ...this.#running]) socket.destroy();
  }

  #asked(socket: Socket): void {
    this.#waiting.add(socket);
    socket.resume();
    socket.on('error', () => {
      // a file that was killed: it ends by 'close'
    });
    socket.once('close', () => {
      this.#waiting.delete(socket);
      this.#running.delete(socket);
      this.#fill();
    });
    this.#fill();
  }

  #look(): void {
    const now = this.#time();
    const share = (now.idle - this.#seen.idle) / Math.max(1, now.all - this.#seen.all);
    this.#seen = now;
    if (share >= IDLE_SHARE_MORE) this.#places = Math.min(PLACES_MAX, Math.max(this.#places, this.#running.size + 1));
    else if (share < IDLE_SHARE_LESS) this.#places = Math.max(PLACES_MIN, this.#places - 1);
    this.#fill();
  }

  #fill(): void {
    for (const socket of this.#waiting) {
      if (this.#running.size >= this.#places) return;
      this.#waiting.delete(socket);
      this.#running.add(socket);
      socket.write('.');
    }
  }
}

/** Waits for a place at this path, and keeps it until this process ends or gives it back by what is returned. */
export async function takePlace(path: string): Promise<() => void> {
  const socket = createConnection(path);
  await once(socket, 'data');
  socket.unref();
  return () => socket.destroy();
}

function processorTime(): ProcessorTime {
  const times = cpus().map(({ times: of }) => of);
  const idle = times.reduce((sum, of) => sum + of.idle, 0);
  return { idle, all: times.reduce((sum, of) => sum + of.user + of.nice + of.sys + of.irq + of.idle, 0) };
}
