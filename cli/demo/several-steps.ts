/** What the demo with several admins says at its end: where all is, and lines to paste. */
import type { Connection } from '../service/connection.ts';
import type { DemoPorts } from './ports.ts';
import { programsLine } from './next-steps.ts';
import type { DemoAdmin } from './admins.ts';

/** What the lines tell of. */
export interface SeveralFacts {
  readonly connection: Connection;
  /** Of the balancer. */
  readonly ports: DemoPorts;
  readonly admins: readonly DemoAdmin[];
}

/** The text. Each line that begins with two spaces is for a shell, bash or zsh. */
export function severalSteps({ connection: { url, key }, ports, admins }: SeveralFacts): string {
  const [first, second = first] = admins;
  return [
    'The balancer stands before all of them:',
    '',
    `URL            ${url}`,
    `Key            ${key ?? ''}`,
    `HTTP proxy     http://127.0.0.1:${ports.http}`,
    `SOCKS5 proxy   socks5h://127.0.0.1:${ports.socks5}`,
    `Console        ${url}/console`,
    `Documentation  ${url}/`,
    '',
    'Try next, in another terminal and any directory:',
    '',
    programsLine(),
    `  export EDGE_URL=${url} EDGE_API_KEY=${key ?? ''} EDGE_PROXY_URL=http://127.0.0.1:${ports.http}`,
    '  edge health',
    '  edge node ls',
    '  edge run --all -b -- uname -sr',
    '',
    `Kill ${second?.name ?? ''} while this goes on:`,
    '',
    "  edge run --all -- 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; done' & sleep 2; " +
      `kill -9 ${second?.pid ?? 0}; wait`,
    '',
    'It ends with every line of every node. You will see here that the admin is gone, and within five seconds who took over its',
    'clusters. Everything else goes on by way of the balancer.',
    '',
  ].join('\n');
}
