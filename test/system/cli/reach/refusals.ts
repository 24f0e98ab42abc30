/** What the commands that reach nodes refuse, and the one line that each says then. */
import type { Words } from '../fixture.ts';
import { ALIAS, type Env } from './fixture.ts';

/** The exit status of its kind, the line, the words, and settings besides those that are right. */
export type Refusal = readonly [status: number, line: RegExp, words: Words, env?: Env];

/** All of them: for the host name of a node, a port where nobody listens, and one where no proxy does. */
export function refusals(host: string, nowhere: number, other: number): readonly Refusal[] {
  const connecting = `connect ${host} 9`;
  const nobody = { EDGE_PROXY_URL: `http://127.0.0.1:${nowhere}` };
  const guessed = { EDGE_PROXY_URL: '', EDGE_URL: 'https://admin.example' };
  const nobodysLine = `cannot reach the proxy http://127\\.0\\.0\\.1:${nowhere} \\(ECONNREFUSED\\)`;
  return [
    [4, /there is no node "nowhere"/u, 'ssh nowhere'],
    [4, /there is no node "nowhere"/u, 'cp nowhere:x y'],
    [4, /there is no node "nowhere"/u, 'forward nowhere 0:localhost:1'],
    [4, /there is no node "nowhere"/u, 'proxy-url nowhere'],
    [4, /there is no node "nowhere"/u, 'connect nowhere 22'],
    [4, /there is no node "nowhere\.fleet\.edge\.internal"/u, 'connect nowhere.fleet.edge.internal 22'],
    [1, /Port 9 of the machine refuses connections/u, connecting],
    [
      3,
      /does not accept this key: set EDGE_PROXY_KEY to PROXY_KEY or MASTER_KEY/u,
      connecting,
      { EDGE_PROXY_KEY: 'wrong' },
    ],
    [3, /does not accept this key: set EDGE_PROXY_KEY to/u, `forward ${ALIAS} 0:localhost:1`, { EDGE_PROXY_KEY: '' }],
    [1, new RegExp(nobodysLine, 'u'), connecting, nobody],
    [1, /cannot reach the proxy .* \(ECONNREFUSED\)/u, `forward ${ALIAS} 0:localhost:1`, nobody],
    [1, /what answers at .* is no HTTP proxy/u, connecting, { EDGE_PROXY_URL: `http://127.0.0.1:${other}` }],
    [1, /cannot reach the proxy https:/u, connecting, { EDGE_PROXY_URL: `https://127.0.0.1:${other}` }],
    [2, /"ftp:\/\/x" is no URL of a proxy/u, connecting, { EDGE_PROXY_URL: 'ftp://x' }],
    [2, /must not hold the key/u, `ssh ${ALIAS}`, { EDGE_PROXY_URL: 'http://_:hidden@127.0.0.1:1' }],
    [2, /set EDGE_PROXY_URL \(or edge login --proxy-url\)/u, connecting, guessed],
    [2, /is neither a port nor HOST:PORT/u, `connect ${host} 99999`],
    [2, /is neither a port nor HOST:PORT/u, ['connect', ALIAS, 'a b:1']],
    [2, /"80" is no forward/u, `forward ${ALIAS} 80`],
    [2, /"8080:localhost:0" is no forward/u, `forward ${ALIAS} 8080:localhost:0`],
    [2, /a node is missing/u, 'ssh -v'],
    [2, /--cluster is no option of ssh/u, `ssh --cluster x ${ALIAS}`],
    [2, /nothing of this is on a node/u, 'cp a b'],
    [2, /both sides are on a node/u, `cp ${ALIAS}:a ${ALIAS}:b`],
    [2, /say what to copy/u, `cp -r ${ALIAS}:a`],
    [2, /from 2 nodes/u, `cp ${ALIAS}:a db-1:b .`],
    [2, /"x" is no URL of a SOCKS5 proxy/u, 'proxy-url --socks5', { EDGE_SOCKS5_URL: 'x' }],
    [4, /there is no cluster "none": edge cluster ls shows all/u, 'ssh-config --cluster none'],
    [1, /there is no ssh on this machine's PATH/u, `ssh ${ALIAS}`, { PATH: '/nonexistent' }],
  ];
}
