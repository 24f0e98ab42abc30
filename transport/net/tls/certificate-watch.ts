/**
 * A certificate in files that others replace while it is shown, as certbot and Kubernetes do: looked at now and then,
 * and taken up where it is whole.
 */
import { stat } from 'node:fs/promises';
import type { Log } from '../log.ts';
import type { Unwind } from '../unwind.ts';

/** How often the files are looked at, in ms. */
export const LOOK_MS = 10_000;

/** A pair that cannot be used is read again after this, in ms, before it is told: it may be half replaced. */
export const SECOND_LOOK_MS = 2_000;

/** What clients are shown. */
export interface ServedPair {
  /** PEM: the certificate first, then those that vouch for it. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  /** Unix time, in ms. */
  readonly expiresAtMs: number;
}

/** Reads a pair. Does not throw; a problem is one line. `nowMs`: Unix time. */
type ReadPair = (
  nowMs: number,
) => { readonly ok: true; readonly value: ServedPair } | { readonly ok: false; readonly problem: string };

/** What it is watched with. */
export interface CertificateBase {
  readonly clock: { nowMs(): number; after(ms: number, task: () => void): () => void };
  readonly log: Log;
  /** Gets its end. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** Watches a certificate, where there is one. Throws the problem of a pair that cannot be used. */
export function watchCertificate(
  source: { readonly files: readonly string[]; readonly read: ReadPair } | null,
  { clock, log, ends }: CertificateBase,
): CertificateWatch | null {
  if (source === null) return null;
  const watch = new CertificateWatch({
    files: source.files,
    read: () => source.read(clock.nowMs()),
    after: (ms, task) => clock.after(ms, task),
    log,
  });
  ends.add('the certificate', () => watch.close());
  return watch;
}

/** Where it comes from. */
export interface CertificateWatchPorts {
  /** Paths of the files, which may lead through symbolic links. */
  readonly files: readonly string[];
  /** Reads them anew. Does not throw; a problem is one line. */
  readonly read: () => ReturnType<ReadPair>;
  /** Calls once after so many ms, unless what it answers is called before. */
  readonly after: (ms: number, task: () => void) => () => void;
  readonly log: Log;
}

/** How it is. Counts are since the start. */
export interface CertificateReadings {
  /** Unix time, in ms. */
  readonly expiresAtMs: number;
  /** The files hold a pair that cannot be used, so the one before is shown. */
  readonly isRefused: boolean;
  /** Pairs that were taken up. */
  readonly reloads: number;
  readonly plainHttp: number;
  readonly failedHandshakes: number;
}

/** The pair of now. */
export class CertificateWatch {
  /** Counted by the front that shows it. */
  readonly turnedAway = { plainHttp: 0, failedHandshakes: 0 };
  readonly #ports: CertificateWatchPorts;
  #pair: ServedPair;
  #seen: string | null = null;
  #failures = 0;
  #reloads = 0;
  #changed: (pair: ServedPair) => void = () => undefined;
  #cancel: () => void = () => undefined;
  #isClosed = false;

  /** Reads the files. Throws the problem of a pair that cannot be used. */
  constructor(ports: CertificateWatchPorts) {
    const read = ports.read();
    if (!read.ok) throw new Error(read.problem);
    this.#ports = ports;
    this.#pair = read.value;
    this.#plan(LOOK_MS);
  }

  get pair(): ServedPair {
    return this.#pair;
  }

  readings(): CertificateReadings {
    const { expiresAtMs } = this.#pair;
    return { expiresAtMs, isRefused: this.#failures > 1, reloads: this.#reloads, ...this.turnedAway };
  }

  /** Told of each other pair from now on. */
  onChange(changed: (pair: ServedPair) => void): void {
    this.#changed = changed;
  }

  /** Looks no more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #plan(ms: number): void {
    if (!this.#isClosed) this.#cancel = this.#ports.after(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { files, read } = this.#ports;
    // Inode and device tell of a link that leads elsewhere, where size and time are the same.
    const seen = (await Promise.all(files.map(signatureOf))).join();
    if (seen !== this.#seen || this.#failures > 0) {
      this.#seen = seen;
      this.#judge(read());
    }
    this.#plan(this.#failures === 1 ? SECOND_LOOK_MS : LOOK_MS);
  }

  #judge(read: ReturnType<CertificateWatchPorts['read']>): void {
    const { log } = this.#ports;
    if (!read.ok) {
      this.#failures += 1;
      // Once, until there is one that can be used: the health tells of it all the while.
      if (this.#failures === 2)
        log.error({ problem: read.problem }, 'the new certificate cannot be used: the one before is shown on');
      return;
    }
    this.#failures = 0;
    const { certificate, key, expiresAtMs } = read.value;
    if (certificate === this.#pair.certificate && key === this.#pair.key) return;
    this.#pair = read.value;
    this.#reloads += 1;
    this.#changed(this.#pair);
    log.info({ expires_at: new Date(expiresAtMs).toISOString() }, 'another certificate is shown from now on');
  }
}

async function signatureOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs } = await stat(file, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
