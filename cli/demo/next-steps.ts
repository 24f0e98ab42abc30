/**
 * What the demo says at its end: where it is, and lines to paste that work in any directory and as often as one likes.
 */
import { fileURLToPath } from 'node:url';
import type { Connection } from '../service/connection.ts';
import { shellWord } from '../reach/openssh.ts';
import { DEMO_CLUSTER, DEMO_DOMAIN } from './fleet.ts';
import { DEMO_USER, type DemoLogin } from './login.ts';
import type { DemoPorts } from './ports.ts';

/** Where the programs of this clone are, for a PATH. */
const PROGRAMS_DIRECTORY = fileURLToPath(new URL('../../bin', import.meta.url));

/** The line that puts them on the PATH of a shell. */
export function programsLine(): string {
  return `  export PATH=${shellWord(PROGRAMS_DIRECTORY)}:$PATH`;
}

/** What the lines tell of. */
export interface DemoFacts {
  readonly connection: Connection;
  readonly ports: DemoPorts;
  /** Null: nobody can log in, as this machine has no OpenSSH. */
  readonly login: DemoLogin | null;
  /** A local port that is free, for a forward. */
  readonly forwardPort: number;
}

/** The text. Each line that begins with two spaces is for a shell, bash or zsh. */
export function nextSteps({ connection: { url, key }, ports, login, forwardPort }: DemoFacts): string {
  return [
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
    `  export EDGE_URL=${url} EDGE_API_KEY=${key ?? ''}`,
    '  edge status',
    '  edge node ls',
    `  edge run -c ${DEMO_CLUSTER} -b -- uname -sr`,
    "  edge run -n demo-1 -- 'for i in 1 2 3; do echo $i; sleep 1; done'",
    ...(login === null ? [] : [`  edge ssh -i ${shellWord(login.keyFile)} ${DEMO_USER}@demo-1`]),
    '  curl -H "Authorization: Bearer $EDGE_API_KEY" $EDGE_URL/api/v1/nodes',
    `  curl -x "$(edge proxy-url)" http://demo-2.${DEMO_CLUSTER}.${DEMO_DOMAIN}:${ports.api}/livez`,
    '',
    `These go on until Ctrl-C. With the first, http://localhost:${forwardPort}/ is the documentation too, by way of demo-2:`,
    '',
    `  edge forward demo-2 ${forwardPort}:localhost:${ports.api}`,
    '  edge events tail',
    '  edge webhook listen --on all',
    '',
  ].join('\n');
}
