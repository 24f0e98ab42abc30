/** Keeps a service running as systemd does, by the launcher: what ends is started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { ROOT } from '../source/source-text.ts';

/** From an end to the next start, in ms. */
const PAUSE_MS = 50;

/** One service. */
export class Supervisor {
  readonly #role: 'agent' | 'updater';
  readonly #env: Readonly<Record<string, string>>;
  readonly #pidFile: string;
  #child: ChildProcess | null = null;
  #isOver = false;
  /** Everything that it wrote. */
  output = '';
  starts = 0;

  /** `pidFile`: where the process of now is written. */
  constructor(scope: Scope, role: 'agent' | 'updater', env: Readonly<Record<string, string>>, pidFile: string) {
    this.#role = role;
    this.#env = env;
    this.#pidFile = pidFile;
    scope.teardown(() => this.stop());
  }

  /** Starts it, until `stop`. */
  start(): void {
    const child = spawn('sh', [join(ROOT, 'deploy/launcher.sh'), this.#role], {
      env: { PATH: process.env['PATH'] ?? '', ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.starts += 1;
    this.#child = child;
    writeFileSync(this.#pidFile, `${child.pid}\n`);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    child.on('exit', () => {
      this.#child = null;
      if (!this.#isOver) setTimeout(() => this.#isOver || this.start(), PAUSE_MS);
    });
  }

  /** As `systemctl restart`: resolves when the one before is gone; the next one is started. */
  async restart(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Its process of now; null between two. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    const child = this.#child;
    if (child === null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
