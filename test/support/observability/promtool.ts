/** Prometheus' own checker, asked by tests that name the peer `promtool`. */
import { spawn } from 'node:child_process';
import { peerPath } from '../run/peers.ts';

/**
 * Runs promtool with these words, `input` on its stdin; resolves with all that it said when it found something wrong,
 * and with '' when all is well.
 */
export async function promtool(words: readonly string[], input = ''): Promise<string> {
  const program = spawn(await peerPath('promtool'), words);
  const said: Buffer[] = [];
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (piece: Buffer) => said.push(piece));
  program.stdin.on('error', () => {}); // it may have seen enough
  program.stdin.end(input);
  return new Promise((resolve, reject) => {
    program.once('error', reject);
    program.once('close', (code) =>
      resolve(code === 0 ? '' : `${Buffer.concat(said).toString()}\nexit status ${code}`),
    );
  });
}

/** What promtool finds wrong with an exposition; '' for nothing. */
export async function metricsProblems(exposition: string): Promise<string> {
  return promtool(['check', 'metrics'], exposition);
}
