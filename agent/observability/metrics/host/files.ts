/** The files in which the kernel tells of the machine: read whole, at once, within bounds. */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

/** Where the host's files are. Fixture trees in tests. */
export interface HostRoots {
  readonly proc: string;
  readonly sys: string;
  /** Directory that holds `etc`, `run` and `usr`; empty: the machine's own. */
  readonly root: string;
}

/** Those of this machine. */
export const HOST_ROOTS: HostRoots = { proc: '/proc', sys: '/sys', root: '' };

/** Largest file that is read, in bytes: 20,000 mounts. A larger one counts as unreadable. */
export const FILE_BYTES_MAX = 4_194_304;

/** Most names that are taken from a directory. */
export const NAMES_MAX = 65_536;

/**
 * Largest attribute below /sys, in bytes, which always comes with one read. Source: the kernel's
 * Documentation/filesystems/sysfs.rst (a page).
 */
const ATTRIBUTE_BYTES_MAX = 4_096;

/** One read, in bytes: nearly every file comes with the first. */
const CHUNK_BYTES = 65_536;

/**
 * The files of one host during one scrape. Reads synchronously: the kernel answers from memory, in some 10 µs a file,
 * and a thread for each would cost ten times as much (measured). What cannot be read throws, unless the name of the
 * method ends in `OrNull`.
 */
export class HostFiles {
  readonly roots: HostRoots;
  /** Devices beyond the limit that collectors left out so far. */
  leftOut = 0;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  readonly #kept = new Map<string, string>();

  constructor(roots: HostRoots) {
    this.roots = roots;
  }

  /** A file below /proc. Bytes that are not UTF-8 become U+FFFD, or stay one character each with `latin1`. */
  proc(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
    return this.#read(`${this.roots.proc}/${path}`, encoding);
  }

  /** One that several collectors need: read once a scrape. */
  procShared(path: string): string {
    const kept = this.#kept.get(path) ?? this.proc(path);
    this.#kept.set(path, kept);
    return kept;
  }

  /** Trimmed. */
  procOrNull(path: string): string | null {
    return this.#orNull(`${this.roots.proc}/${path}`);
  }

  /** An attribute below /sys, trimmed. */
  sysOrNull(path: string): string | null {
    return this.#orNull(`${this.roots.sys}/${path}`, ATTRIBUTE_BYTES_MAX);
  }

  /** A file elsewhere, trimmed. */
  rootOrNull(path: string): string | null {
    return this.#orNull(`${this.roots.root}/${path}`);
  }

  /** Names in a directory below /proc. */
  procNames(path: string): readonly string[] {
    return readdirSync(`${this.roots.proc}/${path}`).slice(0, NAMES_MAX);
  }

  /** Names in a directory below /sys. */
  sysNames(path: string): readonly string[] {
    return readdirSync(`${this.roots.sys}/${path}`).slice(0, NAMES_MAX);
  }

  sysNamesOrNone(path: string): readonly string[] {
    try {
      return this.sysNames(path);
    } catch {
      return []; // no such kind of device here
    }
  }

  #orNull(path: string, bytesAtOnce?: number): string | null {
    try {
      return this.#read(path, 'utf8', bytesAtOnce).trim();
    } catch {
      return null; // the device does not have it, or not now
    }
  }

  /** A file of at most `bytesAtOnce` is there with the first read. */
  #read(path: string, encoding: 'utf8' | 'latin1', bytesAtOnce = -1): string {
    const file = openSync(path, 'r');
    try {
      const first = readSync(file, this.#chunk, 0, CHUNK_BYTES, null);
      return first <= bytesAtOnce ||
        (first < CHUNK_BYTES && readSync(file, this.#chunk, first, CHUNK_BYTES - first, null) === 0)
        ? this.#chunk.toString(encoding, 0, first)
        : this.#readOn(file, path).toString(encoding);
    } finally {
      closeSync(file);
    }
  }

  /** A file that does not come at once, from its beginning. */
  #readOn(file: number, path: string): Buffer {
    const parts: Buffer[] = [];
    for (let position = 0; position <= FILE_BYTES_MAX;) {
      const bytes = readSync(file, this.#chunk, 0, CHUNK_BYTES, position);
      if (bytes === 0) return Buffer.concat(parts);
      parts.push(Buffer.from(this.#chunk.subarray(0, bytes)));
      position += bytes;
    }
    throw new Error(`${path} has over ${FILE_BYTES_MAX} bytes`);
  }
}

/** A decimal number, or null for anything else: what is not a number is never zero. */
export function numberOrNull(text: string | null | undefined): number | null {
  if (text === null || text === undefined || text === '') return null;
  const number = Number(text);
  return Number.isNaN(number) ? null : number;
}
