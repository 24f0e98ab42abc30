/**
 * node_exporter, the community's exporter of hosts, as Debian packages it and with the collectors that it has switched
 * on there.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A running node_exporter. */
export interface NodeExporter {
  readonly pid: number;
  /** Where it is scraped. */
  readonly url: string;
  end(): Promise<void>;
}

/** Starts it on a free port of loopback. */
export async function startNodeExporter(program: string): Promise<NodeExporter> {
  const child = spawn(program, ['--web.listen-address=127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const abandon = (): void => void child.kill('SIGKILL'); // whoever started it was interrupted
  process.once('exit', abandon);
  const lines = createInterface({ input: child.stderr });
  const address = new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const found = /msg="Listening on" address=(?<address>\S+)/u.exec(line)?.groups?.['address'];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (status) => reject(new Error(`node_exporter ended with ${status}`))).once('error', reject);
  });
  return {
    pid: child.pid ?? 0,
    url: `http://${await address}/metrics`,
    async end() {
      process.off('exit', abandon);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
