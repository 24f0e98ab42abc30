/** `edge forward`. */
import type { Command as Program } from 'commander';
import { ending } from '../until-interrupted.ts';
import { tell, write } from '../output/output.ts';
import type { Table } from '../table/columns.ts';
import { rowsText } from '../table/text.ts';
import { checkProxy } from '../reach/dial.ts';
import { startForwards, type LocalForward } from '../reach/local-forwards.ts';
import { nodePlace } from '../reach/places.ts';
import { proxyOf } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import { forwardOf, targetText } from '../reach/stream-targets.ts';
import { sessionOf } from '../service/session.ts';

const HELP = `
A FORWARD is [LOCAL_HOST:]LOCAL_PORT:HOST:PORT. HOST localhost, 127.0.0.1 or ::1 is the node itself; any other is reached from there.
It listens on 127.0.0.1 unless LOCAL_HOST says otherwise; LOCAL_PORT 0 is a free one. Ctrl-C ends it.

Examples:
  edge forward web-1 8080:localhost:80
  edge forward web-1 0:localhost:5432 0:10.0.0.5:443        what is listened on stands on stdout
  edge forward gw.prod 0.0.0.0:9000:printer.lan:9100       for other machines of this network too`;

interface Row {
  readonly local: string;
  readonly remote: string;
  readonly node: string;
}

const TABLE: Table<Row> = {
  id: ({ local }) => local,
  columns: [
    ['LOCAL', 'local'],
    ['LEADS TO', 'remote'],
    ['BY', 'node'],
  ],
};

/** Local ports that lead to a node, or through it. */
export function addForwardCommand(program: Program): void {
  program
    .command('forward <node> <forwards...>')
    .description('listen on local ports that lead to a node, or through it, until Ctrl-C')
    .addHelpText('after', HELP)
    .action(async (name: string, specs: readonly string[], _flags: object, command: Program) => {
      const wanted = specs.map(forwardOf);
      const { api, connection, view } = sessionOf(command);
      const proxy = await proxyOf(connection, process.env, () => toldPortsOf(api));
      const { host: nodeHost, status } = await nodePlace(api, name);
      await checkProxy(proxy, nodeHost);
      if (status === 'unreachable')
        tell(`${nodeHost} is not connected now: it will do as soon as that machine is back`);

      const { asked } = ending();
      const running = await startForwards(wanted, { proxy, nodeHost, failed: tell });
      try {
        await write(
          rowsText(
            running.forwards.map((forward) => row(forward, nodeHost)),
            TABLE,
            { ...view(), width: null },
          ),
        );
        await asked;
      } finally {
        running.close();
      }
    });
}

function row({ listen, target }: LocalForward, node: string): Row {
  return { local: targetText(listen), remote: targetText(target), node };
}
