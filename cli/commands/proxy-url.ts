/** `edge proxy-url`. */
import type { Command as Program } from 'commander';
import { EXIT, Problem } from '../problem.ts';
import { tell, write } from '../output/output.ts';
import { shellWord } from '../reach/openssh.ts';
import { nodePlace } from '../reach/places.ts';
import { proxyOf, SELF_USERNAME, socks5Authority } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import { sessionOf } from '../service/session.ts';

interface UrlFlags {
  readonly socks5?: boolean;
  readonly export?: boolean;
}

const HELP = `
With a NODE: what goes there comes out at that machine, so its network is seen. Without: destinations are the nodes themselves.
The key is in what is printed. With --export it stays out of the list of processes, where words of commands are.

Examples:
  eval "$(edge proxy-url gw --export)"; curl http://192.168.1.1/       the router of that machine
  curl -x "$(edge proxy-url)" http://web-1.prod.edge.internal:8080/    a port of the machine itself
  curl -x "$(edge proxy-url gw --socks5)" https://intranet/`;

/** The URL of the proxy, for other programs. */
export function addProxyUrlCommand(program: Program): void {
  program
    .command('proxy-url [node]')
    .description('print the URL of the proxy, with the key in it, for curl and other programs')
    .option('--socks5', 'that of the SOCKS5 proxy')
    .option('--export', 'as lines for eval of a shell: http_proxy, https_proxy, all_proxy')
    .addHelpText('after', HELP)
    .action(async (name: string | undefined, flags: UrlFlags, command: Program) => {
      const { api, connection } = sessionOf(command);
      const askPorts = () => toldPortsOf(api);
      const proxy = await proxyOf(connection, process.env, askPorts);
      if (proxy.key === null)
        throw new Problem('no key is known: set EDGE_PROXY_KEY or EDGE_API_KEY, or run edge login', EXIT.auth);
      const username = name === undefined ? SELF_USERNAME : (await nodePlace(api, name)).host;
      const user = `${username}:${encodeURIComponent(proxy.key)}@`;
      const url =
        flags.socks5 === true
          ? `socks5h://${user}${await socks5Authority(proxy, connection, process.env, askPorts)}`
          : proxy.url.replace('//', `//${user}`);
      if (process.stdout.isTTY) tell('the key is in this: whoever reads it gets to every node');
      await write(
        flags.export === true
          ? ['http_proxy', 'https_proxy', 'all_proxy']
              .map((variable) => `export ${variable}=${shellWord(url)}\n`)
              .join('')
          : `${url}\n`,
      );
    });
}
