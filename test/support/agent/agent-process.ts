/** A real agent process in a test: a directory of its own, its log, and an end. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { ExecutionContext } from 'ava';
import { FREE_PORTS } from '../fleet/agent-program.ts';
import { END_MS_MAX, type Exit } from '../fleet/program.ts';
import { until } from '../until.ts';
import { compileCache, programFile, withSourcePlaces } from '../run/programs.ts';

export class AgentProcess {
  readonly child: ChildProcess;
  log = '';
  /** Null while it runs. */
  exit: Exit | null = null;

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stderr?.on('data', (piece: Buffer) => {
      this.log += withSourcePlaces(piece.toString('utf8'));
    });
    child.on('close', (code, signal) => {
      this.exit = { code, signal };
    });
  }

  /**
   * Starts `edge-agent` with nothing but PATH, HOME and `environment`; killed after the test if it still lives. `file`:
   * of another version.
   */
  static start(
    t: ExecutionContext,
    environment: Record<string, string>,
    words: readonly string[] = ['up'],
    file: string = programFile('edge-agent'),
  ): AgentProcess {
    const args = [file, ...words];
    const child = spawn(process.execPath, args, {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '/',
        ...compileCache(args),
        ...FREE_PORTS,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const agent = new AgentProcess(child);
    t.teardown(async () => {
      agent.kill();
      await agent.ended();
    });
    return agent;
  }

  /** How it ended. Rejects with the end of its log where it goes on for longer than END_MS_MAX. */
  async ended(): Promise<Exit> {
    return until(
      `the end of agent ${this.child.pid}`,
      () => {
        if (this.exit === null) throw new Error(`it says: ${this.log.slice(-2_000)}`);
        return this.exit;
      },
      END_MS_MAX,
    );
  }

  /** As `kill -9`. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** As systemd does. */
  terminate(): void {
    this.child.kill('SIGTERM');
  }
}
